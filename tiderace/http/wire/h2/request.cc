#include "tiderace/http/wire/h2/request.h"

#include <algorithm>
#include <array>
#include <memory>

#include "tiderace/base/check.h"
#include "tiderace/http/wire/field_syntax.h"
#include "tiderace/http/wire/framing.h"
#include "tiderace/http/wire/host.h"
#include "tiderace/http/wire/scan.h"

namespace tiderace::http::wire {
namespace {

using Parse = H2RequestParse;

constexpr std::size_t method_bytes_max = 32;
constexpr ByteView crumb_separator = "; ";

constexpr std::uint64_t bit(FieldName name) {
    return std::uint64_t{1} << static_cast<unsigned>(name);
}
constexpr unsigned bit(PseudoField field) {
    return 1U << static_cast<unsigned>(field);
}

// About the connection, which HTTP/2 has its own means for (RFC 9113, 8.2.2).
constexpr std::uint64_t connection_fields =
    bit(FieldName::connection) | bit(FieldName::keep_alive) | bit(FieldName::transfer_encoding) |
    bit(FieldName::upgrade);
// The fields that are examined one by one; most are not.
constexpr std::uint64_t looked_at =
    connection_fields | bit(FieldName::te) | bit(FieldName::cookie) | bit(FieldName::other);
// Trailers come after the request was routed and framed, so none may say it anew (RFC 9110, 6.5.1).
constexpr std::uint64_t never_trailers = bit(FieldName::host) | bit(FieldName::content_length) |
                                         bit(FieldName::te) | bit(FieldName::cookie);

Refusal judge_connection_field(const HpackField& field) {
    const bool refused =
        (bit(field.id) & connection_fields) != 0 ||
        (field.id == FieldName::te && !equals_ignoring_case(field.value, "trailers")) ||
        (field.id == FieldName::other && field.name == "proxy-connection");
    return refused ? Refusal::connection_field : Refusal::none;
}

// The crumbs of one cookie (RFC 9113, 8.2.3), which are joined when all are here. The first is a
// field of the head; memory for the others is not touched until they come.
class Crumbs {
  public:
    Refusal add(ByteView value) {
        if (count_ == crumbs_.size()) return Refusal::too_many_fields;
        crumbs_[count_++] = {value.data(), value.size()};
        bytes_ += value.size() + crumb_separator.size();
        return Refusal::none;
    }
    bool any() const { return count_ > 0; }
    bool several() const { return count_ > 1; }

    // All of them in one text at the start of `room`, which is large enough: each crumb was counted
    // with more overhead than a separator.
    ByteView join(std::span<char> room) const {
        TR_CHECK(bytes_ <= room.size(), "the arena is too small for the list");
        char* to = room.data();
        for (std::size_t i = 0; i < count_; ++i) {
            if (crumbs_[i].size == 0) continue;  // or the text would end with the separator's space
            if (to != room.data())
                to = std::copy(crumb_separator.begin(), crumb_separator.end(), to);
            to = std::copy_n(crumbs_[i].data, crumbs_[i].size, to);
        }
        return {room.data(), static_cast<std::size_t>(to - room.data())};
    }

  private:
    struct Crumb {
        const char* data;
        std::size_t size;
    };
    std::array<Crumb, h2_crumbs_max> crumbs_;  // not initialised
    std::size_t count_ = 0;
    std::size_t bytes_ = 0;
};

bool valid_scheme(ByteView scheme) {
    if (scheme == "https" || scheme == "http") return true;
    const auto fits = [](char c) { return is_letter_or_digit(c) || syntax::contains("+-.", c); };
    return !scheme.empty() && !is_digit(scheme.front()) &&
           std::all_of(scheme.begin(), scheme.end(), fits);
}

Refusal judge_authority(ByteView authority, HostMemo* hosts) {
    const auto valid = [&] {
        return hosts != nullptr ? hosts->is_valid(authority) : valid_host(authority);
    };
    const bool names_one = !authority.empty() && authority.front() != ':' && valid();
    return names_one ? Refusal::none : Refusal::bad_host;
}

// Without the port that the scheme has anyway.
ByteView without_default_port(ByteView authority, ByteView scheme) {
    const ByteView port = scheme == "https" ? ":443" : ":80";
    if (authority.ends_with(port)) authority.remove_suffix(port.size());
    return authority;
}

// One request, while its fields come.
class RequestReader {
  public:
    RequestReader(const H2RequestLimits& limits, RequestHead& head, HostMemo* hosts)
        : limits_(limits),
          head_(head),
          hosts_(hosts),
          fields_max_(std::min(limits.fields_max, RequestHead::fields_capacity)) {}

    Refusal take(const HpackField& field) {
        if (field.refusal != Refusal::none) return field.refusal;
        if (field.pseudo != PseudoField::none) return take_pseudo(field);
        fields_began_ = true;
        if ((bit(field.id) & looked_at) != 0) {
            const Refusal refusal = judge_connection_field(field);
            if (refusal != Refusal::none) return refusal;
            if (field.id == FieldName::cookie) return take_crumb(field);
        }
        return add(field.name, field.value, field.id);
    }

    // All fields are here.
    Refusal end(Parse& parse, std::span<char> room) {
        Refusal refusal = end_method();
        if (refusal == Refusal::none) refusal = end_target();
        if (refusal == Refusal::none) refusal = end_host();
        if (refusal != Refusal::none) return refusal;
        // After the checks: end_method() has made sure which of them are there.
        parse.scheme = value(PseudoField::scheme);
        parse.protocol = value(PseudoField::protocol);
        if (crumbs_.several()) {
            const ByteView cookie = crumbs_.join(room);
            head_.set_value(*head_.find(FieldName::cookie), cookie);
            parse.arena_used += cookie.size();
        }
        return end_body(parse);
    }

  private:
    bool has(PseudoField field) const { return (seen_ & bit(field)) != 0; }
    ByteView value(PseudoField field) const {
        return has(field) ? values_[static_cast<std::size_t>(field)] : ByteView();
    }

    Refusal take_pseudo(const HpackField& field) {
        // A request has no :status, each pseudo-field comes once, and all come before the fields
        // (RFC 9113, 8.3).
        const bool known =
            field.pseudo != PseudoField::status && field.pseudo != PseudoField::unknown;
        if (!known || fields_began_ || has(field.pseudo)) return Refusal::bad_pseudo_field;
        seen_ |= bit(field.pseudo);
        ByteView& value = values_[static_cast<std::size_t>(field.pseudo)];
        std::construct_at(&value, field.value.data(), field.value.size());
        // At once: also the answer to a request that is refused further on depends on it.
        if (field.pseudo == PseudoField::method) head_.set_method(value);
        return Refusal::none;
    }

    Refusal take_crumb(const HpackField& field) {
        const bool first = !crumbs_.any();
        if (const Refusal refusal = crumbs_.add(field.value); refusal != Refusal::none) {
            return refusal;
        }
        // Counted as one field, as after joining; Crumbs has its own limit.
        return first ? add(field.name, field.value, field.id) : Refusal::none;
    }

    Refusal add(ByteView name, ByteView value, FieldName id) {
        if (head_.fields().size() == fields_max_) return Refusal::too_many_fields;
        head_.add_field(name, value, id);
        return Refusal::none;
    }

    // Which pseudo fields a request has depends on its method (RFC 9113, 8.3.1 and 8.5; RFC 8441).
    Refusal end_method() {
        const ByteView method = value(PseudoField::method);
        // Known methods are tokens. A method is text from the peer that reaches logs, so its length
        // is limited.
        if (head_.method() == Method::other) {
            if (!is_token(method)) return Refusal::bad_pseudo_field;
            if (method.size() > method_bytes_max) return Refusal::method_too_long;
        }
        const bool connect = head_.method() == Method::connect;
        const bool extended = has(PseudoField::protocol);
        if (extended) {
            // RFC 8441, 4: :protocol comes with CONNECT alone, and only where we announced it.
            const bool may = limits_.extended_connect && connect &&
                             is_token(value(PseudoField::protocol)) && has(PseudoField::authority);
            if (!may) return Refusal::bad_pseudo_field;
        }
        tunnel_ = connect && !extended;
        const bool path_and_scheme = has(PseudoField::path) && has(PseudoField::scheme);
        const bool neither = !has(PseudoField::path) && !has(PseudoField::scheme);
        return (tunnel_ ? neither : path_and_scheme) ? Refusal::none : Refusal::bad_pseudo_field;
    }

    Refusal end_target() {
        const ByteView authority = value(PseudoField::authority);
        if (has(PseudoField::authority)) {
            const Refusal refusal = judge_authority(authority, hosts_);
            if (refusal != Refusal::none) return refusal;
        }
        if (tunnel_) {
            // CONNECT names a host and a port (RFC 9113, 8.5); colons inside [] are the address's.
            const bool port = authority.find(':', authority.rfind(']') + 1) != ByteView::npos;
            head_.set_target(authority, TargetForm::authority, authority);
            return port && authority.back() != ':' ? Refusal::none : Refusal::bad_target;
        }
        if (!valid_scheme(value(PseudoField::scheme))) return Refusal::bad_pseudo_field;
        const ByteView path = value(PseudoField::path);
        if (path.size() > limits_.target_bytes_max) return Refusal::target_too_long;
        const bool asterisk = head_.method() == Method::options && path == "*";
        if (!asterisk && !valid_path(path)) return Refusal::bad_target;
        head_.set_target(path, asterisk ? TargetForm::asterisk : TargetForm::origin, authority);
        return Refusal::none;
    }

    // As strict as the request line of HTTP/1: no space, control character or "#", because a hop
    // may write this path into one.
    static bool valid_path(ByteView path) {
        return path.starts_with('/') && scan::find_first<scan::TargetEnd>(path, 0) == path.size();
    }

    // Every reader of the host finds the same one.
    Refusal end_host() {
        const ByteView authority = value(PseudoField::authority);
        const Field* host = head_.find(FieldName::host);
        if (head_.repeated(FieldName::host)) return Refusal::duplicate_host;
        // RFC 9113, 8.3.1: :authority stands for Host, so readers of Host find it under that name.
        if (host == nullptr) {
            if (authority.empty()) return Refusal::missing_host;
            return add(to_lower_string(FieldName::host), authority, FieldName::host);
        }
        if (authority.empty()) return judge_authority(host->value, hosts_);
        const ByteView scheme = value(PseudoField::scheme);
        const bool same = equals_ignoring_case(without_default_port(authority, scheme),
                                               without_default_port(host->value, scheme));
        return same ? Refusal::none : Refusal::two_hosts;
    }

    Refusal end_body(Parse& parse) const {
        if (const Field* length = head_.find(FieldName::content_length); length != nullptr) {
            if (head_.repeated(FieldName::content_length)) return Refusal::duplicate_length;
            const ContentLength parsed = parse_content_length(length->value);
            if (parsed.refusal != Refusal::none) return parsed.refusal;
            parse.content_length = parsed.value;
        }
        if (!head_.has(FieldName::expect)) return Refusal::none;
        parse.expect_continue = true;
        return judge_expectations(head_);
    }

    const H2RequestLimits& limits_;
    RequestHead& head_;
    HostMemo* hosts_;
    std::size_t fields_max_;
    unsigned seen_ = 0;  // pseudo fields present; the others' values_ are stale
    bool fields_began_ = false;
    bool tunnel_ = false;  // an ordinary CONNECT
    std::array<ByteView, static_cast<std::size_t>(PseudoField::unknown)> values_;
    Crumbs crumbs_;
};

// Reads the whole block; `take` is called until it refuses.
template <typename Take>
Parse read_block(HpackDecoder::Block& block, Take take) {
    Parse parse;
    block.for_each([&](const HpackField& field) {
        // Read to its end even after a refusal: later blocks need the table as the peer has it.
        if (parse.refusal == Refusal::none) parse.refusal = take(field);
    });
    // The size outranks what else is wrong with it; a corrupt block outranks both, because HPACK's
    // table is lost.
    if (block.status() == HpackDecoder::Status::too_large) parse.refusal = Refusal::head_too_large;
    if (parse.refusal != Refusal::none) parse.status = Parse::Status::refused;
    if (block.status() == HpackDecoder::Status::corrupt) {
        parse.status = Parse::Status::compression_error;
        parse.refusal = Refusal::none;
    }
    parse.arena_used = block.arena_used();
    return parse;
}

Refusal take_trailer(const HpackField& field, std::size_t fields_max, RequestHead& head) {
    if (field.refusal != Refusal::none) return field.refusal;
    if (field.pseudo != PseudoField::none) return Refusal::bad_pseudo_field;
    if ((bit(field.id) & never_trailers) != 0) return Refusal::bad_trailer;
    if (const Refusal refusal = judge_connection_field(field); refusal != Refusal::none) {
        return refusal;
    }
    if (head.fields().size() == fields_max) return Refusal::too_many_fields;
    head.add_field(field.name, field.value, field.id);
    return Refusal::none;
}

}  // namespace

// Refusals with other statuses (414, 417, 431, 501) are valid HTTP/2 that we do not serve: they
// get an answer, not a reset.
bool H2RequestParse::malformed() const {
    return status == Status::refused && status_of(refusal) == 400;
}

std::size_t h2_arena_bytes(const H2RequestLimits& limits, const HpackDecoder& decoder) {
    return decoder.arena_bytes(limits.list_bytes_max) + limits.list_bytes_max;
}

H2RequestParse parse_h2_request(HpackDecoder& decoder, ByteView block, std::span<char> arena,
                                const H2RequestLimits& limits, RequestHead& head, HostMemo* hosts) {
    head.clear();  // HTTP/1.1: what its fields mean does not depend on the version
    HpackDecoder::Block fields = decoder.read(block, arena, limits.list_bytes_max);
    RequestReader reader(limits, head, hosts);
    Parse parse = read_block(fields, [&](const HpackField& field) { return reader.take(field); });
    if (parse.status != Parse::Status::complete) return parse;
    parse.refusal = reader.end(parse, arena.subspan(parse.arena_used));
    if (parse.refusal != Refusal::none) parse.status = Parse::Status::refused;
    return parse;
}

H2RequestParse parse_h2_trailers(HpackDecoder& decoder, ByteView block, std::span<char> arena,
                                 const H2RequestLimits& limits, RequestHead& head) {
    head.clear();
    const std::size_t fields_max = std::min(limits.fields_max, RequestHead::fields_capacity);
    HpackDecoder::Block fields = decoder.read(block, arena, limits.list_bytes_max);
    return read_block(
        fields, [&](const HpackField& field) { return take_trailer(field, fields_max, head); });
}

}  // namespace tiderace::http::wire
