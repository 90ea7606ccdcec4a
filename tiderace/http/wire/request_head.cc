#include "tiderace/http/wire/request_head.h"

#include <algorithm>
#include <cstring>

#include "tiderace/http/wire/field_line.h"
#include "tiderace/http/wire/field_syntax.h"
#include "tiderace/http/wire/host.h"
#include "tiderace/http/wire/scan.h"

namespace tiderace::http::wire {
namespace {

using scan::find_first;

constexpr std::size_t method_bytes_max = 32;
constexpr ByteView common_version = "HTTP/1.1\r\n";
// The first byte of a ClientHello (RFC 8446, 5.1): an https client on the plain port.
constexpr char tls_handshake_record = 0x16;

struct Target {
    bool valid;
    TargetForm form;
    ByteView authority;
};

// The authority of an http or https URL; "" when the target is not one.
ByteView authority_of_url(ByteView target) {
    for (const ByteView scheme : {ByteView("http://"), ByteView("https://")}) {
        if (!starts_with_ignoring_case(target, scheme)) continue;
        const ByteView rest = target.substr(scheme.size());
        return rest.substr(0, rest.find_first_of("/?"));
    }
    return {};
}

bool valid_authority(ByteView authority) {
    return !authority.empty() && authority.front() != ':' && valid_host(authority);
}

[[gnu::cold]] Target judge_rare_target(Method method, ByteView target) {
    if (method == Method::connect) {
        const bool has_port =
            // RFC 9110, 9.3.6: CONNECT needs a port; "[::1]" has colons and none.
            target.back() != ':' && target.back() != ']' && target.find(':') != ByteView::npos;
        return {has_port && valid_authority(target), TargetForm::authority, target};
    }
    if (target == "*") return {method == Method::options, TargetForm::asterisk, {}};
    const ByteView authority = authority_of_url(target);
    return {valid_authority(authority), TargetForm::absolute, authority};
}

Target judge_target(Method method, ByteView target) {
    const bool is_origin = method != Method::connect && target.front() == '/';
    return is_origin ? Target{true, TargetForm::origin, {}} : judge_rare_target(method, target);
}

// Walks one head from `at_`. Each step returns complete when it went past its piece, need_more at
// the end of the bytes, and refused with refusal_ set.
class HeadParser {
  public:
    HeadParser(ByteView bytes, const HeadLimits& limits, RequestHead& head)
        : bytes_(bytes),
          head_(head),
          fields_max_(std::min(limits.fields_max, RequestHead::fields_capacity)) {}

    std::size_t at() const { return at_; }
    Refusal refusal() const { return refusal_; }

    ParseStatus empty_line() {
        if (bytes_.empty()) return ParseStatus::need_more;
        // RFC 9112, 2.2: one empty line before a request is skipped, since old clients send it
        // behind a body.
        if (bytes_[0] == '\r') return line_end(bytes_, 0);
        if (bytes_[0] == tls_handshake_record) return refuse(Refusal::tls_handshake);
        return ParseStatus::complete;
    }

    ParseStatus request_line(std::size_t bytes_max) {
        // The line is parsed as far as it may reach, and no byte further: the answer to a line that
        // is too long is the same whether it came in one read or in many.
        const std::size_t bytes = std::min(bytes_max, bytes_.size() - at_);
        const ByteView line = between(bytes_, 0, at_ + bytes);
        ParseStatus status = method(line);
        if (status == ParseStatus::complete) status = target(line);
        if (status == ParseStatus::complete) status = version(line);
        if (status == ParseStatus::complete) status = judged_target();
        if (status == ParseStatus::need_more && bytes == bytes_max) {
            return refuse(Refusal::target_too_long);
        }
        return status;
    }

    // A line's end must be CRLF. A lone LF, which RFC 9112, 2.2, lets a recipient accept, is
    // refused, because a hop that does not accept it sees other fields than we do.
    ParseStatus fields() {
        while (at_ < bytes_.size()) {
            if (bytes_[at_] == '\r') return line_end(bytes_, at_);
            const ParseStatus status = field_line();
            if (status != ParseStatus::complete) return status;
        }
        return ParseStatus::need_more;
    }

    [[gnu::cold]] ParseStatus refuse(Refusal refusal) {
        refusal_ = refusal;
        return ParseStatus::refused;
    }

  private:
    // line[cr] is a CR: goes past it and its LF.
    ParseStatus line_end(ByteView line, std::size_t cr) {
        if (cr + 1 == line.size()) return ParseStatus::need_more;
        if (line[cr + 1] != '\n') return refuse(Refusal::bare_cr);
        at_ = cr + 2;
        return ParseStatus::complete;
    }

    ParseStatus method(ByteView line) {
        const std::size_t end = find_first<scan::TokenEnd>(line, at_);
        // Before need_more: a method without an end must not be waited for up to the line's limit.
        if (end - at_ > method_bytes_max) return refuse(Refusal::method_too_long);
        if (end == line.size()) return ParseStatus::need_more;
        if (line[end] != ' ' || end == at_) {
            return refuse(refusal_for(line[end], Refusal::bad_request_line));
        }
        head_.set_method(between(line, at_, end));
        at_ = end + 1;
        return ParseStatus::complete;
    }

    ParseStatus target(ByteView line) {
        const std::size_t end = find_first<scan::TargetEnd>(line, at_);
        if (end == line.size()) return ParseStatus::need_more;
        if (line[end] != ' ') return bad_target_byte(line, end);
        if (end == at_) return refuse(Refusal::bad_request_line);
        target_ = between(line, at_, end);
        at_ = end + 1;
        return ParseStatus::complete;
    }

    // After the version, because a wrong version is reported first.
    ParseStatus judged_target() {
        const Target judged = judge_target(head_.method(), target_);
        if (!judged.valid) return refuse(Refusal::bad_target);
        head_.set_target(target_, judged.form, judged.authority);
        return ParseStatus::complete;
    }

    [[gnu::cold]] ParseStatus bad_target_byte(ByteView line, std::size_t end) {
        if (line[end] == '\r') {
            const ParseStatus status = line_end(line, end);
            // A request line of HTTP/0.9 ends behind its target.
            return status == ParseStatus::complete ? refuse(Refusal::bad_version) : status;
        }
        const bool space = line[end] == '\t';
        return refuse(
            refusal_for(line[end], space ? Refusal::bad_request_line : Refusal::bad_target));
    }

    ParseStatus version(ByteView line) {
        // One comparison for nearly every request; other_version() finds what is wrong with the
        // rest.
        const std::size_t size = std::min(common_version.size(), line.size() - at_);
        const char* const text = line.data() + at_;
        if (size == common_version.size() &&
            std::memcmp(text, common_version.data(), common_version.size()) == 0) {
            head_.set_version_minor(1);
            at_ += size;
            return ParseStatus::complete;
        }
        return other_version({text, size});
    }

    [[gnu::cold]] ParseStatus other_version(ByteView text) {
        constexpr ByteView form = "HTTP/0.0\r\n";
        for (std::size_t i = 0; i < text.size(); ++i) {
            const bool fits = form[i] == '0' ? is_digit(text[i]) : text[i] == form[i];
            if (fits) continue;
            const bool after_cr = i + 1 == form.size();
            return refuse(after_cr ? Refusal::bare_cr : refusal_for(text[i], Refusal::bad_version));
        }
        if (text.size() < form.size()) return ParseStatus::need_more;
        if (text[5] != '1') return refuse(Refusal::unsupported_version);
        // RFC 9110, 2.5: HTTP/1.2 would be understood as the highest version that we know.
        head_.set_version_minor(text[7] == '0' ? 0 : 1);
        at_ += form.size();
        return ParseStatus::complete;
    }

    ParseStatus field_line() {
        if (head_.fields().size() == fields_max_) return refuse(Refusal::too_many_fields);
        const FieldLine line = parse_field_line(bytes_, at_);
        if (line.status == ParseStatus::complete) {
            head_.add_field(line.name, line.value);
            at_ = line.end;
        }
        refusal_ = line.refusal;
        return line.status;
    }

    ByteView bytes_;
    RequestHead& head_;
    ByteView target_;
    std::size_t fields_max_;
    std::size_t at_ = 0;
    Refusal refusal_ = Refusal::none;
};

}  // namespace

RequestHead::RequestHead() : own_(std::make_unique<Field[]>(fields_capacity)) {
    lend({own_.get(), fields_capacity});
}

const Field* RequestHead::next(const Field& field) const {
    for (const Field* other = &field + 1; other != fields_ + fields_count_; ++other) {
        if (other->id == field.id &&
            (field.id != FieldName::other || equals_ignoring_case(other->name, field.name))) {
            return other;
        }
    }
    return nullptr;
}

void RequestHead::rebase(std::ptrdiff_t by) {
    const auto move = [by](ByteView& view) {
        if (!view.empty()) view = {view.data() + by, view.size()};
    };
    move(method_text_);
    move(target_);
    move(target_authority_);
    for (std::size_t i = 0; i < fields_count_; ++i) {
        move(fields_[i].name);
        move(fields_[i].value);
    }
}

const Field* RequestHead::find(ByteView name) const {
    const FieldName id = intern_field_name(name);
    if (id != FieldName::other) return find(id);
    for (const Field& field : fields()) {
        if (field.id == FieldName::other && equals_ignoring_case(field.name, name)) return &field;
    }
    return nullptr;
}

HeadParse parse_request_head(ByteView data, const HeadLimits& limits, RequestHead& head) {
    head.clear();
    // No further than a head may reach, so that the limit does not depend on how the bytes arrived.
    const ByteView bytes = between(data, 0, std::min(data.size(), limits.head_bytes_max));
    HeadParser parser(bytes, limits, head);
    ParseStatus status = parser.empty_line();
    if (status == ParseStatus::complete)
        status = parser.request_line(limits.request_line_bytes_max);
    if (status == ParseStatus::complete) status = parser.fields();
    if (status == ParseStatus::need_more && bytes.size() == limits.head_bytes_max) {
        status = parser.refuse(Refusal::head_too_large);
    }
    // A partial head is parsed anew from its start when more bytes come, so nothing of it is used
    // yet.
    const std::size_t used = status == ParseStatus::complete ? parser.at() : 0;
    return {status, used, parser.refusal()};
}

}  // namespace tiderace::http::wire
