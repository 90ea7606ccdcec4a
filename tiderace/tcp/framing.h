// Framings: where one message of a stream ends. Pure: bytes in, a frame out.
//
//   while (auto line = co_await stream.read(tcp::Line{})) …
//   auto message = co_await stream.read(tcp::LengthField{.field_bytes = 2, .bytes_max = 64_KiB});
//
// A framing of one's own is a type with the same call; it must have a trivial destructor.
//
// Thread   Values.
// Limits   bytes_max, of one frame. A peer that sends a longer one gets no further: End::too_long.
// Keywords: length prefix, line protocol, delimiter
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <type_traits>

#include "tiderace/base/bytes.h"
#include "tiderace/base/units.h"

namespace tiderace::tcp {

// The result of a framing at the front of the bytes.
struct Found {
    enum class State : std::uint8_t { more, frame, too_long };

    State state = State::more;
    std::size_t used = 0;  // with State::frame: of the bytes, with what delimits it
    ByteView frame = {};   // with State::frame: the message alone
    std::size_t seen = 0;  // with State::more: bytes that are not scanned again
};

template <typename F>
concept Framing = std::is_trivially_destructible_v<F> && std::copyable<F> &&
                  requires(const F& framing, ByteView bytes, std::size_t seen) {
                      { framing(bytes, seen) } -> std::same_as<Found>;
                  };

// As many bytes as there are.
struct Any {
    Found operator()(ByteView bytes, std::size_t seen) const;
};

// Exactly `bytes`.
struct Fixed {
    std::size_t bytes;
    Found operator()(ByteView in, std::size_t seen) const;
};

// Up to a mark, which is not part of the frame. `mark` is not empty and outlives the read.
struct Delimiter {
    std::string_view mark;
    std::size_t bytes_max = 8_KiB;  // without the mark
    Found operator()(ByteView bytes, std::size_t seen) const;
};

// Up to "\n" or "\r\n".
struct Line {
    std::size_t bytes_max = Delimiter{}.bytes_max;  // without the end of the line
    Found operator()(ByteView bytes, std::size_t seen) const;
};

// A number: the length of the bytes that follow.
struct LengthField {
    std::size_t field_bytes = 4;  // 1 to 8
    std::size_t bytes_max = 1_MiB;
    bool little_endian = false;
    bool counts_itself = false;  // the number includes the field
    Found operator()(ByteView bytes, std::size_t seen) const;
};

}  // namespace tiderace::tcp
