#include "tiderace/http/wire/framing.h"

#include <limits>

#include "tiderace/http/wire/field_syntax.h"
#include "tiderace/http/wire/host.h"

namespace tiderace::http::wire {
namespace {

using Body = RequestFraming::Body;

constexpr std::uint64_t length_max = std::numeric_limits<std::int64_t>::max();

// All the codings of all the Transfer-Encoding lines. Without "chunked" as the last, and only
// there, the end of the body is unknown: 400. Chunked over a coding we do not undo: 501.
Refusal judge_transfer_codings(const RequestHead& head) {
    bool chunked_last = false;
    bool other_coding = false;
    for (const Field* field = head.find(FieldName::transfer_encoding); field != nullptr;
         field = head.next(*field)) {
        ListReader list(field->value);
        while (list.next()) {
            if (chunked_last) return Refusal::bad_transfer_coding;  // twice, or not the last
            chunked_last = equals_ignoring_case(list.element(), "chunked");
            other_coding |= !chunked_last;
        }
        if (list.malformed() || list.had_empty()) return Refusal::bad_transfer_coding;
    }
    if (!chunked_last) return Refusal::bad_transfer_coding;
    return other_coding ? Refusal::unknown_transfer_coding : Refusal::none;
}

Refusal frame_body(const RequestHead& head, RequestFraming& framing) {
    const Field* length = head.find(FieldName::content_length);
    if (head.has(FieldName::transfer_encoding)) {
        // RFC 9112, 6.3, lets the coding win; where two hops differ, requests can be smuggled.
        if (length != nullptr) return Refusal::length_and_chunked;
        // RFC 9112, 6.1: HTTP/1.0 has no transfer codings, so the framing is faulty.
        if (head.version_minor() == 0) return Refusal::bad_transfer_coding;
        framing.body = Body::chunked;
        return judge_transfer_codings(head);
    }
    if (length == nullptr) return Refusal::none;
    // Equal values as well: RFC 9110, 8.6, allows to reject them.
    if (head.repeated(FieldName::content_length)) return Refusal::duplicate_length;
    const ContentLength parsed = parse_content_length(length->value);
    framing.length = parsed.value;
    framing.body = parsed.value > 0 ? Body::length : Body::none;
    return parsed.refusal;
}

// RFC 9112 3.2: exactly one valid Host in HTTP/1.1. It may be empty only where it names nothing:
// the target brings its own authority, or is the server itself ("*"), or the client speaks
// HTTP/1.0.
Refusal judge_host(const RequestHead& head, HostMemo* hosts) {
    const Field* host = head.find(FieldName::host);
    if (host == nullptr) {
        return head.version_minor() == 0 ? Refusal::none : Refusal::missing_host;
    }
    if (head.repeated(FieldName::host)) return Refusal::duplicate_host;
    const bool valid = hosts != nullptr ? hosts->is_valid(host->value) : valid_host(host->value);
    if (!valid) return Refusal::bad_host;
    const bool names_nothing = host->value.empty() || host->value.front() == ':';
    if (!names_nothing) return Refusal::none;
    const bool needed =
        head.target_form() == TargetForm::origin || head.target_form() == TargetForm::authority;
    const bool may_be_empty = !needed || head.version_minor() == 0;
    return host->value.empty() && may_be_empty ? Refusal::none : Refusal::bad_host;
}

struct ConnectionOptions {
    bool close = false;
    bool keep_alive = false;
    bool upgrade = false;
};

ConnectionOptions read_connection(const RequestHead& head) {
    ConnectionOptions options;
    for (const Field* field = head.find(FieldName::connection); field != nullptr;
         field = head.next(*field)) {
        ListReader list(field->value);
        while (list.next()) {
            const ByteView option = list.element();
            // What is not a token was meant for somebody else's parser: do not go on with it.
            if (equals_ignoring_case(option, "close") || !is_token(option)) options.close = true;
            if (equals_ignoring_case(option, "keep-alive")) options.keep_alive = true;
            if (equals_ignoring_case(option, "upgrade")) options.upgrade = true;
        }
        options.close |= list.malformed();
    }
    return options;
}

[[gnu::cold]] RequestFraming refused(Refusal refusal) {
    RequestFraming framing;
    framing.refusal = refusal;
    return framing;
}

}  // namespace

// Digits alone. A leading zero is refused as well: some read it as octal.
ContentLength parse_content_length(ByteView text) {
    if (text.empty() || (text.size() > 1 && text.front() == '0')) return {0, Refusal::bad_length};
    for (const char c : text) {
        if (!is_digit(c)) return {0, Refusal::bad_length};
    }
    std::uint64_t value = 0;
    for (const char c : text) {
        const auto digit = static_cast<std::uint64_t>(c - '0');
        if (value > (length_max - digit) / 10) return {0, Refusal::length_overflow};
        value = value * 10 + digit;
    }
    return {value, Refusal::none};
}

Refusal judge_expectations(const RequestHead& head) {
    for (const Field* field = head.find(FieldName::expect); field != nullptr;
         field = head.next(*field)) {
        ListReader list(field->value);
        while (list.next()) {
            if (!equals_ignoring_case(list.element(), "100-continue")) {
                return Refusal::unknown_expectation;
            }
        }
        if (list.malformed()) return Refusal::unknown_expectation;
    }
    return Refusal::none;
}

RequestFraming frame_request(const RequestHead& head, HostMemo* hosts) {
    RequestFraming framing;
    const bool http_1_1 = head.version_minor() > 0;
    // The order decides which refusal a request with several faults gets.
    if (const Refusal refusal = judge_host(head, hosts); refusal != Refusal::none) {
        return refused(refusal);
    }
    if (const Refusal refusal = frame_body(head, framing); refusal != Refusal::none) {
        return refused(refusal);
    }
    // An HTTP/1.0 client's Expect is passed over, as RFC 9110 10.1.1 asks.
    if (http_1_1 && head.has(FieldName::expect)) {
        const Refusal refusal = judge_expectations(head);
        if (refusal != Refusal::none) return refused(refusal);
        // Without a body there is nothing to continue with (RFC 9110, 10.1.1).
        framing.expect_continue = framing.body != Body::none;
    }
    framing.keep_alive = http_1_1;
    if (head.has(FieldName::connection)) {
        const ConnectionOptions options = read_connection(head);
        // RFC 9112, 9.3: "close" wins over "keep-alive".
        framing.keep_alive = !options.close && (http_1_1 || options.keep_alive);
        const Field* upgrade = head.find(FieldName::upgrade);
        framing.upgrade_requested =
            http_1_1 && options.upgrade && upgrade != nullptr && !upgrade->value.empty();
    }
    return framing;
}

}  // namespace tiderace::http::wire
