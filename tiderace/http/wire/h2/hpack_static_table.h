// Internal. HPACK's static table (RFC 7541, appendix A), with FieldName ids beside the texts.
//
// Thread   Any: constant tables.
// Memory   About 3 KiB of constants.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "tiderace/base/check.h"
#include "tiderace/http/wire/field_name.h"
#include "tiderace/http/wire/h2/hpack_field.h"

namespace tiderace::http::wire::hpack_static {

inline constexpr std::uint32_t entries = 61;

extern const std::array<HpackField, entries> table;  // numbered from 1

// `index` is 1 to `entries`.
inline const HpackField& entry(std::uint32_t index) {
    TR_CHECK(index >= 1 && index <= entries, "the static table has no such entry");
    return table[index - 1];
}

// The first entry with this name, or 0 when there is none.
std::uint32_t index_of(FieldName name);

// The entry for ":status" with that value (200, 204, 206, 304, 400, 404, 500), or 0.
std::uint32_t index_of_status(int code);

inline constexpr std::uint32_t status_index = 8;  // whose name is ":status"

}  // namespace tiderace::http::wire::hpack_static
