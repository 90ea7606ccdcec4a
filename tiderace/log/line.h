// Internal. Line: writes one log line into memory of another owner, usually a ring.
//
// Everything a peer can influence goes through text() or json(): they write printable
// ASCII only, so that no peer ends a line, fakes a record or drives a terminal.
//
// Limits   Text that does not fit is cut before a whole escape, and full() is true from then on.
#pragma once

#include <charconv>
#include <concepts>
#include <cstddef>
#include <cstring>
#include <span>

#include "tiderace/base/bytes.h"

namespace tiderace::log {

// The most that one byte becomes: \u0000.
inline constexpr std::size_t escaped_byte_bytes_max = 6;

class Line {
  public:
    explicit Line(std::span<char> room)
        : begin_(room.data()), at_(room.data()), end_(room.data() + room.size()) {}

    std::size_t size() const { return static_cast<std::size_t>(at_ - begin_); }
    bool full() const { return full_; }

    // As they are: for constants and what was checked.
    Line& raw(char byte) {
        if (fits(1)) *at_++ = byte;
        return *this;
    }
    Line& raw(ByteView bytes) {
        if (!bytes.empty() && fits(bytes.size())) {
            std::memcpy(at_, bytes.data(), bytes.size());
            at_ += bytes.size();
        }
        return *this;
    }
    Line& number(std::integral auto value) {
        const auto [end, failure] = std::to_chars(at_, end_, value);
        if (failure == std::errc{} && !full_) {
            at_ = end;
        } else {
            full_ = true;
        }
        return *this;
    }
    Line& number(double value);

    // Control characters, `"`, `\`, DEL and bytes from 0x80 become \n, \", \\, \x7f, …
    Line& text(ByteView bytes);
    // The inside of a JSON string, in ASCII: UTF-8 becomes \u00e9 …, bytes that are none \ufffd.
    Line& json(ByteView bytes);

    // Forgets what was written after `size`, and that it did not fit.
    void rewind(std::size_t size) {
        at_ = begin_ + size;
        full_ = false;
    }

  private:
    bool fits(std::size_t bytes) {
        if (full_ || static_cast<std::size_t>(end_ - at_) < bytes) full_ = true;
        return !full_;
    }
    // Copies the plain bytes that `bytes` begins with; returns how many.
    std::size_t plain(ByteView bytes);
    template <typename Other>
    void escaped(ByteView bytes, Other&& other);
    void unicode_escape(char32_t unit);
    std::size_t unicode_escapes(ByteView bytes);

    char* begin_;
    char* at_;
    char* end_;
    bool full_ = false;
};

}  // namespace tiderace::log
