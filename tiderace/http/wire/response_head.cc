#include "tiderace/http/wire/response_head.h"

#include <charconv>
#include <cstring>

#include "tiderace/base/check.h"
#include "tiderace/http/wire/field_syntax.h"
#include "tiderace/http/wire/scan.h"
#include "tiderace/http/wire/status.h"

namespace tiderace::http::wire {
namespace {

constexpr ByteView line_end = "\r\n";

template <typename Word>
char* copy_ends(char* to, const char* from, std::size_t size) {
    Word first;
    Word last;
    std::memcpy(&first, from, sizeof(Word));
    std::memcpy(&last, from + size - sizeof(Word), sizeof(Word));
    std::memcpy(to, &first, sizeof(Word));
    std::memcpy(to + size - sizeof(Word), &last, sizeof(Word));
    return to + size;
}

// Pieces of a head are short: two words that overlap are faster than a call.
inline char* copy(char* to, ByteView from) {
    if (from.size() > 16 || from.size() < 4) {
        if (!from.empty()) std::memcpy(to, from.data(), from.size());
        return to + from.size();
    }
    return from.size() >= 8 ? copy_ends<std::uint64_t>(to, from.data(), from.size())
                            : copy_ends<std::uint32_t>(to, from.data(), from.size());
}

bool valid_value(ByteView value) {
    // A CR or LF from a value would begin a new field, or even another answer.
    return scan::find_first<scan::ValueEnd>(value, 0) == value.size();
}

}  // namespace

bool ResponseHeadWriter::fail(Fault fault) {
    if (fault_ == Fault::none) fault_ = fault;
    return false;
}

bool ResponseHeadWriter::append_line(ByteView start, ByteView middle, ByteView value) {
    if (fault_ != Fault::none) return false;
    // Views of memory that is there: the sum of their sizes cannot wrap around.
    const std::size_t bytes = start.size() + middle.size() + value.size() + line_end.size();
    if (bytes > out_.size() - size_) return fail(Fault::overflow);
    char* to = out_.data() + size_;
    to = copy(to, start);
    if (!middle.empty()) to = copy(to, middle);
    to = copy(to, value);
    *to++ = '\r';
    *to = '\n';
    size_ += bytes;
    return true;
}

bool ResponseHeadWriter::lines(ByteView rendered) {
    if (fault_ != Fault::none) return false;
    if (rendered.size() > out_.size() - size_) return fail(Fault::overflow);
    copy(out_.data() + size_, rendered);
    size_ += rendered.size();
    return true;
}

bool ResponseHeadWriter::status(int code, ByteView reason) {
    if (code < 100 || code > 999 || !valid_value(reason)) return fail(Fault::bad_status);
    const ByteView rendered = reason.empty() ? status_line(code) : ByteView();
    if (!rendered.empty()) return lines(rendered);
    char digits[] = {static_cast<char>('0' + code / 100), static_cast<char>('0' + code / 10 % 10),
                     static_cast<char>('0' + code % 10), ' '};
    return append_line("HTTP/1.1 ", ByteView(digits, sizeof digits), reason);
}

bool ResponseHeadWriter::field(FieldName name, ByteView value) {
    TR_CHECK(name != FieldName::other, "a field needs a name: give its text");
    if (!valid_value(value)) return fail(Fault::bad_value);
    return append_line(to_line_start(name), {}, value);
}

bool ResponseHeadWriter::field(ByteView name, ByteView value) {
    if (!is_token(name)) return fail(Fault::bad_name);
    if (!valid_value(value)) return fail(Fault::bad_value);
    return append_line(name, ": ", value);
}

bool ResponseHeadWriter::number(FieldName name, std::uint64_t value) {
    TR_CHECK(name != FieldName::other, "a field needs a name: give its text");
    char digits[20];
    const char* end = std::to_chars(digits, digits + sizeof digits, value).ptr;
    return append_line(to_line_start(name), {},
                       ByteView(digits, static_cast<std::size_t>(end - digits)));
}

bool ResponseHeadWriter::date(ByteView imf_fixdate) {
    if (imf_fixdate.size() != date_bytes) return fail(Fault::bad_value);
    return field(FieldName::date, imf_fixdate);
}

}  // namespace tiderace::http::wire
