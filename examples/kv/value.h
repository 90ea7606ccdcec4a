// Value: what a key holds: a string, a list, a hash, a set or a sorted set.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <string_view>
#include <variant>

#include "examples/kv/dict.h"
#include "examples/kv/sorted_set.h"
#include "examples/kv/text.h"
#include "tiderace/base/lru_cache.h"

namespace kv {

struct Nothing {};
using List = std::deque<std::string>;
using Hash = Dict<std::string>;
using Set = Dict<Nothing>;

// In the order of the variant.
enum class Type : std::uint8_t { string, list, hash, set, sorted_set };
std::string_view to_string(Type type);

using Value = std::variant<Text, std::unique_ptr<List>, std::unique_ptr<Hash>, std::unique_ptr<Set>,
                           std::unique_ptr<SortedSet>>;

struct Entry : tiderace::LruHook {
    Value value;
    std::int64_t expires = 0;  // milliseconds since 1970; 0: never
    const std::string* key = nullptr;

    Type type() const { return static_cast<Type>(value.index()); }
};

}  // namespace kv
