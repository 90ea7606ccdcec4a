// The reader behind json::read: a JSON text into a value that a Type describes.
//
//   text -> size -> surrogates in pairs? -> simdjson (whole text, depth) -> walk along the Type
//                                                                          -> faults, with places
//
// simdjson checks the whole text first, so that no value is made from a text that is not JSON, and
// ignored members are checked too. Only reader.cc includes it.
//
// Thread   Any; each thread has a parser of its own.
// Memory   A thread keeps a parser for texts of up to parser_kept_bytes, which takes about 15 times
//          that. A longer text gets a parser of its own, freed after the call.
#pragma once

#include <cstddef>
#include <expected>

#include "tiderace/base/bytes.h"
#include "tiderace/json/fault.h"
#include "tiderace/json/type.h"

namespace tiderace::json {

inline constexpr std::size_t parser_kept_bytes = 16 * 1024;
inline constexpr std::size_t depth_limit = 1024;  // what Options::depth_max may be at most

struct Options {
    std::size_t size_bytes_max = 1024 * 1024;
    std::size_t depth_max = 64;          // levels of objects and arrays
    std::size_t elements_max = 100'000;  // of all arrays and maps together
    // Members that a struct does not have. A struct's own `unknown_members` comes first.
    Unknown unknown = Unknown::refuse;
    // Members that the text lacks: `keep` gives them what their struct's declaration does.
    Missing missing = Missing::refuse;
};

// `value` is freshly made; after an error it holds some of the text.
std::expected<void, Error> read_value(ByteView text, void* value, const Type& type,
                                      const Options& options);

}  // namespace tiderace::json
