#include <array>

#include "load/crc32.h"

namespace tiderace::load {
namespace {

constexpr std::uint32_t polynomial = 0xedb88320;  // reflected, as gzip has it

// The effect of each byte on the remainder: eight steps of the division, made when this is
// compiled.
constexpr std::array<std::uint32_t, 256> make_table() {
    std::array<std::uint32_t, 256> table{};
    for (std::uint32_t byte = 0; byte < table.size(); ++byte) {
        std::uint32_t rest = byte;
        for (int bit = 0; bit < 8; ++bit) rest = rest >> 1 ^ (rest & 1 ? polynomial : 0);
        table[byte] = rest;
    }
    return table;
}

constexpr std::array<std::uint32_t, 256> table = make_table();

}  // namespace

// Byte by byte, for builds without zlib (crc32_zlib.cc): slower, and the figures of --check-hash
// with it, but the same hashes.
std::uint32_t crc32(std::uint32_t before, ByteView bytes) {
    std::uint32_t rest = ~before;
    for (const char byte : bytes) {
        rest = rest >> 8 ^ table[(rest ^ static_cast<unsigned char>(byte)) & 0xff];
    }
    return ~rest;
}

}  // namespace tiderace::load
