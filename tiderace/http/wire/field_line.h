// Field line: one line "Name: value" CR LF, of a head or of a trailer section (RFC 9112, section
// 5).
//
// Thread   Any: a pure function.
// Errors   The peer's faults are a Refusal, the same for every continuation of the bytes.
// Memory   None; the views point into the bytes.
#pragma once

#include <cstddef>
#include <cstdint>

#include "tiderace/base/bytes.h"
#include "tiderace/http/wire/field_name.h"
#include "tiderace/http/wire/refusal.h"

namespace tiderace::http::wire {

enum class ParseStatus : std::uint8_t { complete, need_more, refused };

struct Field {
    ByteView name;   // as it was sent
    ByteView value;  // without the space around it; may hold bytes above 0x7f
    FieldName id = FieldName::other;
};

struct FieldLine {
    ParseStatus status;
    Refusal refusal;  // none unless refused
    std::size_t end;  // where the next line begins, when complete
    ByteView name;
    ByteView value;
};

// The line that begins at bytes[from]. The empty line, which ends a section, is not a field line:
// the caller looks for its CR first.
FieldLine parse_field_line(ByteView bytes, std::size_t from);

// The refusal for a byte that may not stand where it stands: nul and bare_lf say so themselves.
constexpr Refusal refusal_for(char c, Refusal otherwise) {
    if (c == '\0') return Refusal::nul;
    return c == '\n' ? Refusal::bare_lf : otherwise;
}

}  // namespace tiderace::http::wire
