#include "tiderace/http/wire/field_line.h"

#include "tiderace/http/wire/field_syntax.h"
#include "tiderace/http/wire/scan.h"

namespace tiderace::http::wire {
namespace {

using scan::find_first;

FieldLine need_more() {
    return {ParseStatus::need_more, Refusal::none, 0, {}, {}};
}
FieldLine refuse(Refusal refusal) {
    return {ParseStatus::refused, refusal, 0, {}, {}};
}

FieldLine refuse_name(char c, bool at_start) {
    if (!is_ows(c)) return refuse(refusal_for(c, Refusal::bad_field_name));
    return refuse(at_start ? Refusal::obs_fold : Refusal::space_before_colon);
}

}  // namespace

FieldLine parse_field_line(ByteView bytes, std::size_t from) {
    const std::size_t name_end = find_first<scan::TokenEnd>(bytes, from);
    if (name_end == bytes.size()) return need_more();
    if (bytes[name_end] != ':' || name_end == from) {
        return refuse_name(bytes[name_end], name_end == from);
    }
    std::size_t begin = name_end + 1;
    while (begin < bytes.size() && is_ows(bytes[begin])) ++begin;
    const std::size_t line_end = find_first<scan::ValueEnd>(bytes, begin);
    if (line_end == bytes.size()) return need_more();
    if (bytes[line_end] != '\r') {
        return refuse(refusal_for(bytes[line_end], Refusal::bad_field_value));
    }
    if (line_end + 1 == bytes.size()) return need_more();
    if (bytes[line_end + 1] != '\n') return refuse(Refusal::bare_cr);
    std::size_t end = line_end;
    while (end > begin && is_ows(bytes[end - 1])) --end;
    return {ParseStatus::complete, Refusal::none, line_end + 2, bytes.substr(from, name_end - from),
            bytes.substr(begin, end - begin)};
}

}  // namespace tiderace::http::wire
