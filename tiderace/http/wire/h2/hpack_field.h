// Internal. HpackField: one field of a field block, with all that is known of its text (RFC 7541).
//
// A name and a value are judged once, when the text comes over the wire; a table keeps the verdict,
// so a field that is sent again by its index is not checked again.
//
// Thread   Any: plain values.
// Memory   None.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "tiderace/base/bytes.h"
#include "tiderace/http/wire/field_name.h"
#include "tiderace/http/wire/refusal.h"

namespace tiderace::http::wire {

// Fields of HTTP/2 itself: ":method" and so on (RFC 9113, 8.3; RFC 8441, 4).
enum class PseudoField : std::uint8_t {
    none,
    authority,
    method,
    path,
    scheme,
    status,
    protocol,
    unknown  // a colon and something else
};

struct HpackField {
    ByteView name;
    ByteView value;
    FieldName id = FieldName::other;  // when pseudo is none, and the name may stand
    PseudoField pseudo = PseudoField::none;
    Refusal refusal = Refusal::none;  // of the name (lower case tokens) or the value
    bool never_indexed = false;       // the sender wants it kept out of every table

    // The name has a spelling in our constants, whatever table it came from.
    ByteView constant_name() const;  // where there is one
    bool has_constant_name() const {
        return pseudo == PseudoField::none ? id != FieldName::other
                                           : pseudo != PseudoField::unknown;
    }
};

// ":path"; "" for `none` and `unknown`. A constant text.
inline constexpr std::array<ByteView, 8> pseudo_field_names = {
    "", ":authority", ":method", ":path", ":scheme", ":status", ":protocol", ""};
constexpr ByteView to_string(PseudoField field) {
    return pseudo_field_names[static_cast<std::size_t>(field)];
}

inline ByteView HpackField::constant_name() const {
    return pseudo == PseudoField::none ? to_lower_string(id) : to_string(pseudo);
}

inline constexpr std::uint32_t hpack_field_overhead = 32;  // RFC 7541, 4.1

// Looks at a name and a value that came as text: fills id, pseudo and refusal.
HpackField judge_hpack_field(ByteView name, ByteView value);
// Judges a value alone, when the name was judged before.
Refusal judge_field_value(ByteView value);

}  // namespace tiderace::http::wire
