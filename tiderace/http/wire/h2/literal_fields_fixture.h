// Header blocks of literals that no table gets, so that a block depends on nothing else.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace tiderace::http::wire {

using Fields = std::vector<std::pair<std::string, std::string>>;

inline std::string literal(const std::string& bytes) {
    std::uint32_t size = static_cast<std::uint32_t>(bytes.size());
    if (size < 127) return static_cast<char>(size) + bytes;
    std::string out = "\x7f";
    for (size -= 127; size >= 128; size >>= 7) out += static_cast<char>(0x80U | (size & 0x7fU));
    return out + static_cast<char>(size) + bytes;
}

inline std::string block_of(const Fields& fields) {
    std::string block;
    for (const auto& [name, value] : fields) {
        block += '\0' + literal(name) + literal(value);
    }
    return block;
}

}  // namespace tiderace::http::wire
