// The request head parser and the framing: whatever the bytes, views stay inside them, limits hold,
// and an answer does not depend on how much else has come.
#include <cstring>
#include <memory>

#include "tiderace/base/check.h"
#include "tiderace/http/wire/field_syntax.h"
#include "tiderace/http/wire/framing.h"
#include "tiderace/http/wire/host.h"
#include "tiderace/http/wire/request_head.h"

namespace tiderace::http::wire {
namespace {

constexpr HeadLimits limits{
    .request_line_bytes_max = 256, .head_bytes_max = 1024, .fields_max = 12};

bool inside(ByteView whole, ByteView part) {
    return part.empty() || (part.data() >= whole.data() &&
                            part.data() + part.size() <= whole.data() + whole.size());
}

void check_fields(ByteView bytes, const RequestHead& head) {
    TR_CHECK(head.fields().size() <= limits.fields_max);
    for (const Field& field : head.fields()) {
        TR_CHECK(inside(bytes, field.name) && is_token(field.name));
        TR_CHECK(inside(bytes, field.value) && is_field_value(field.value));
        TR_CHECK(trim_ows(field.value) == field.value);
        TR_CHECK(field.id == intern_field_name(field.name));
        const Field* first = head.find(field.name);
        TR_CHECK(first != nullptr && first <= &field);
        TR_CHECK(equals_ignoring_case(first->name, field.name));
        const Field* next = head.next(field);
        TR_CHECK(next == nullptr || next > &field);
        if (field.id != FieldName::other && next != nullptr) TR_CHECK(head.repeated(field.id));
    }
}

void check_complete(ByteView bytes, const RequestHead& head) {
    TR_CHECK(bytes.ends_with("\r\n\r\n"));
    TR_CHECK(bytes.find('\0') == ByteView::npos);
    for (std::size_t i = 0; i < bytes.size(); ++i) {
        if (bytes[i] == '\n') TR_CHECK(i > 0 && bytes[i - 1] == '\r');
        if (bytes[i] == '\r') TR_CHECK(i + 1 < bytes.size() && bytes[i + 1] == '\n');
    }
    TR_CHECK(is_token(head.method_text()) && inside(bytes, head.method_text()));
    TR_CHECK(!head.target().empty() && inside(bytes, head.target()));
    TR_CHECK(all(target_byte, head.target()) && inside(head.target(), head.target_authority()));
    TR_CHECK(valid_host(head.target_authority()));
    TR_CHECK(head.version_minor() == 0 || head.version_minor() == 1);
    check_fields(bytes, head);
}

// Counted here in another way than the code under test does it.
std::size_t count(const RequestHead& head, ByteView name) {
    std::size_t found = 0;
    for (const Field& field : head.fields()) found += equals_ignoring_case(field.name, name);
    return found;
}

void check_framing(const RequestHead& head) {
    const RequestFraming framing = frame_request(head);
    if (framing.refusal != Refusal::none) {
        TR_CHECK(status_of(framing.refusal) >= 400 && !framing.keep_alive);
        return;
    }
    const std::size_t lengths = count(head, "content-length");
    const std::size_t codings = count(head, "transfer-encoding");
    TR_CHECK(lengths + codings <= 1);
    TR_CHECK((framing.body == RequestFraming::Body::chunked) == (codings == 1));
    TR_CHECK((framing.body == RequestFraming::Body::length) == (framing.length > 0));
    TR_CHECK(framing.length == 0 || lengths == 1);
    TR_CHECK(head.version_minor() == 0 || count(head, "host") == 1);
    TR_CHECK(!framing.upgrade_requested || count(head, "upgrade") > 0);
    TR_CHECK(!framing.expect_continue || framing.body != RequestFraming::Body::none);
}

HeadParse parse_copy(ByteView bytes, RequestHead& head) {
    const std::unique_ptr<char[]> exact(new char[bytes.size()]);
    if (!bytes.empty()) std::memcpy(exact.get(), bytes.data(), bytes.size());
    const ByteView copy(exact.get(), bytes.size());
    const HeadParse parse = parse_request_head(copy, limits, head);
    if (parse.status == ParseStatus::complete) {
        TR_CHECK(parse.bytes > 0 && parse.bytes <= limits.head_bytes_max);
        check_complete(copy.substr(0, parse.bytes), head);
        check_framing(head);
    }
    return parse;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
    const ByteView bytes(reinterpret_cast<const char*>(data), size);
    static RequestHead head;  // used again, as a loop does
    const HeadParse whole = parse_copy(bytes, head);
    if (whole.status == ParseStatus::need_more) TR_CHECK(size < limits.head_bytes_max);
    // Grown byte by byte: need_more up to some point, and from there on the answer for the whole.
    bool answered = false;
    for (std::size_t grown = 0; grown < size && grown < 2 * limits.head_bytes_max; ++grown) {
        const HeadParse now = parse_copy(bytes.substr(0, grown), head);
        if (now.status == ParseStatus::need_more) {
            TR_CHECK(!answered);
            continue;
        }
        answered = true;
        TR_CHECK(now.status == whole.status && now.bytes == whole.bytes);
        TR_CHECK(now.refusal == whole.refusal);
    }
    return 0;
}

}  // namespace tiderace::http::wire
