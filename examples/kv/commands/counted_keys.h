// The beginning of newer commands with several keys: "numkeys key …", then options.
//
// Thread   The loop's.
// Errors   Answered here; nullopt.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "examples/kv/call.h"

namespace kv {

// The keys behind the number of them, which is the argument `at`.
std::optional<resp::Arguments> read_keys(Call& call, std::size_t at);

// "numkeys key … FIRST|LAST [COUNT n]": LMPOP and ZMPOP.
struct MultiPop {
    resp::Arguments keys;
    bool first = false;
    std::int64_t count = 1;
};
std::optional<MultiPop> read_multi_pop(Call& call, std::size_t at, std::string_view first,
                                       std::string_view last);

// "numkeys key … [LIMIT n]", from the first argument: SINTERCARD and ZINTERCARD.
struct LimitedKeys {
    resp::Arguments keys;
    std::int64_t limit = 0;  // 0: none

    std::int64_t limited(std::size_t found) const {
        const auto number = static_cast<std::int64_t>(found);
        return limit > 0 && limit < number ? limit : number;
    }
};
std::optional<LimitedKeys> read_limited_keys(Call& call);

}  // namespace kv
