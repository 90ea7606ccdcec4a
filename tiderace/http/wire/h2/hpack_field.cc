#include "tiderace/http/wire/h2/hpack_field.h"

#include "tiderace/http/wire/field_syntax.h"
#include "tiderace/http/wire/scan.h"

namespace tiderace::http::wire {
namespace {

PseudoField find_pseudo(ByteView name) {
    for (std::size_t i = 1; i < pseudo_field_names.size(); ++i) {
        if (name == pseudo_field_names[i]) return static_cast<PseudoField>(i);
    }
    return PseudoField::unknown;
}

Refusal judge_field_name(ByteView name) {
    if (name.empty()) return Refusal::bad_field_name;
    for (const char c : name) {
        // RFC 9113, 8.2.1: names are in lower case; others make the message malformed.
        const bool upper = c >= 'A' && c <= 'Z';
        if (upper || !is(token_byte, c)) return refusal_for(c, Refusal::bad_field_name);
    }
    return Refusal::none;
}

}  // namespace

Refusal judge_field_value(ByteView value) {
    if (value.empty()) return Refusal::none;
    // RFC 9113, 8.2.1. HTTP/1.1 strips white space here, so another hop would read another value.
    if (is_ows(value.front()) || is_ows(value.back())) return Refusal::bad_field_value;
    const std::size_t end = scan::find_first<scan::ValueEnd>(value, 0);
    if (end == value.size()) return Refusal::none;
    if (value[end] == '\r') return Refusal::bare_cr;
    return refusal_for(value[end], Refusal::bad_field_value);
}

HpackField judge_hpack_field(ByteView name, ByteView value) {
    HpackField field{.name = name, .value = value};
    if (!name.empty() && name.front() == ':') {
        field.pseudo = find_pseudo(name);
    } else {
        field.refusal = judge_field_name(name);
        if (field.refusal == Refusal::none) field.id = intern_field_name(name);
    }
    if (field.refusal == Refusal::none) field.refusal = judge_field_value(value);
    return field;
}

}  // namespace tiderace::http::wire
