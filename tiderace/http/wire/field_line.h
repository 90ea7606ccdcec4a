// Internal. Field line: one line "Name: value" CR LF, of a head or of a trailer section (RFC 9112,
// section 5).
//
// Thread   Any: a pure function.
// Errors   The peer's faults are a Refusal, the same for every continuation of the bytes.
// Memory   None; the views point into the bytes.
// Keywords: header, obs-fold, trailers
#pragma once

#include <cstddef>

#include "tiderace/base/bytes.h"
#include "tiderace/http/wire/field_name.h"
#include "tiderace/http/wire/field_syntax.h"
#include "tiderace/http/wire/refusal.h"
#include "tiderace/http/wire/scan.h"

namespace tiderace::http::wire {

struct FieldLine {
    ParseStatus status;
    Refusal refusal;  // none unless refused
    std::size_t end;  // where the next line begins, when complete
    ByteView name;
    ByteView value;
};

namespace field_line {
inline FieldLine need_more() {
    return {ParseStatus::need_more, Refusal::none, 0, {}, {}};
}
inline FieldLine refuse(Refusal refusal) {
    return {ParseStatus::refused, refusal, 0, {}, {}};
}
inline FieldLine refuse_name(char c, bool at_start) {
    if (!is_ows(c)) return refuse(refusal_for(c, Refusal::bad_field_name));
    return refuse(at_start ? Refusal::obs_fold : Refusal::space_before_colon);
}
}  // namespace field_line

// The line that begins at bytes[from]. The empty line, which ends a section, is not a field line:
// the caller looks for its CR first. Inline: it is called for each line of each request.
inline FieldLine parse_field_line(ByteView bytes, std::size_t from) {
    const std::size_t name_end = scan::find_first<scan::TokenEnd>(bytes, from);
    if (name_end == bytes.size()) return field_line::need_more();
    if (bytes[name_end] != ':' || name_end == from) {
        return field_line::refuse_name(bytes[name_end], name_end == from);
    }
    std::size_t begin = name_end + 1;
    while (begin < bytes.size() && is_ows(bytes[begin])) ++begin;
    const std::size_t line_end = scan::find_first<scan::ValueEnd>(bytes, begin);
    if (line_end == bytes.size()) return field_line::need_more();
    if (bytes[line_end] != '\r') {
        return field_line::refuse(refusal_for(bytes[line_end], Refusal::bad_field_value));
    }
    if (line_end + 1 == bytes.size()) return field_line::need_more();
    if (bytes[line_end + 1] != '\n') return field_line::refuse(Refusal::bare_cr);
    std::size_t end = line_end;
    while (end > begin && is_ows(bytes[end - 1])) --end;
    return {ParseStatus::complete, Refusal::none, line_end + 2, between(bytes, from, name_end),
            between(bytes, begin, end)};
}

}  // namespace tiderace::http::wire
