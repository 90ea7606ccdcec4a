// Moments of expiry, as commands give them.
#pragma once

#include <cstdint>
#include <optional>

#include "examples/kv/call.h"

namespace kv {

// EX, PX, EXAT, PXAT.
bool is_expiry_word(ByteView word);
// Milliseconds since 1970. nullopt: not a positive number, or too far away; that was answered.
std::optional<std::int64_t> expiry_moment(Call& call, ByteView word, ByteView number);
// 0: never. A moment that has passed removes the key. Logged so that it means the same later.
void change_expiry(Call& call, ByteView key, Entry& entry, std::int64_t when);

}  // namespace kv
