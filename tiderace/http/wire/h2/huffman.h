// Internal. Huffman: the string code of HPACK (RFC 7541, section 5.2 and appendix B).
//
// Thread   Any: pure functions of constant tables.
// Errors   A text that no encoder makes is refused: the code of EOS inside, padding of more than
//          seven bits or not of ones.
// Limits   Decoding never writes past `out`; n bytes make at most n * 8 / 5 of text.
// Memory   17 KiB of constant tables, made at compile time out of the code lengths.
// Keywords: HPACK
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "tiderace/base/bytes.h"

namespace tiderace::http::wire::huffman {

struct Decoded {
    enum class Status : std::uint8_t { complete, corrupt, no_room };

    Status status;
    std::size_t bytes;  // of text in `out`, when complete
};

// no_room says nothing about whether what follows is corrupt.
Decoded decode(ByteView code, std::span<char> out);

// What encode(text) writes.
std::size_t encoded_bytes(ByteView text);

// `out` has room for encoded_bytes(text), which it returns.
std::size_t encode(ByteView text, std::span<char> out);

}  // namespace tiderace::http::wire::huffman
