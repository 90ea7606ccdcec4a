// Internal. BoundedText: text that grows inside memory of a fixed size, and reports what did not
// fit.
//
// An append is whole or not at all, so a buffer never ends in half an escape or half a number, and
// the length is known by having written it: there is no second pass that could disagree.
//
// Owner    BoundedText borrows the caller's bytes; FixedText<N> holds its own.
// Thread   One at a time.
// Errors   append() returns false and changes nothing when the room left is too small.
// Memory   What it was given, nothing else.
#pragma once

#include <array>
#include <charconv>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>

#include "tiderace/base/bytes.h"
#include "tiderace/base/check.h"

namespace tiderace::http::wire {

class BoundedText {
  public:
    explicit BoundedText(std::span<char> memory) : memory_(memory) {}

    bool append(ByteView text) {
        if (text.size() > room()) return false;
        if (!text.empty()) std::memcpy(memory_.data() + size_, text.data(), text.size());
        size_ += text.size();
        return true;
    }
    bool append(char c) { return append(ByteView(&c, 1)); }
    // `base` is 10 or 16 (lower case).
    bool append_number(std::uint64_t number, int base = 10) {
        char* const begin = memory_.data() + size_;
        const auto [end, fault] = std::to_chars(begin, begin + room(), number, base);
        if (fault != std::errc{}) return false;
        size_ += static_cast<std::size_t>(end - begin);
        return true;
    }
    // Takes back what was appended after size() was `size`.
    void shrink_to(std::size_t size) {
        TR_CHECK(size <= size_, "a text cannot shrink to more than it holds");
        size_ = size;
    }
    void clear() { size_ = 0; }

    std::size_t size() const { return size_; }
    std::size_t room() const { return memory_.size() - size_; }
    ByteView view() const { return ByteView(memory_.data(), size_); }

  private:
    std::span<char> memory_;
    std::size_t size_ = 0;
};

// Appends to a string what `append` writes where it has room for `bytes_max`.
template <typename Append>
void append_bounded(std::string& out, std::size_t bytes_max, Append append) {
    const std::size_t begin = out.size();
    out.resize(begin + bytes_max);
    BoundedText room(std::span<char>(out).subspan(begin));
    append(room);
    out.resize(begin + room.size());
}

// A short text returned by value. N is the most it can ever need, so that it cannot overflow.
template <std::size_t N>
class FixedText {
  public:
    // Every append must fit: N is wrong otherwise, and that is our bug.
    FixedText& add(ByteView text) {
        TR_CHECK(text.size() <= N - size_, "FixedText is too small for its own format");
        if (!text.empty()) std::memcpy(bytes_.data() + size_, text.data(), text.size());
        size_ += text.size();
        return *this;
    }
    FixedText& add_number(std::uint64_t number, int base = 10) {
        BoundedText rest(std::span<char>(bytes_).subspan(size_));
        TR_CHECK(rest.append_number(number, base), "FixedText is too small for its own format");
        size_ += rest.size();
        return *this;
    }

    std::size_t size() const { return size_; }
    ByteView view() const& { return ByteView(bytes_.data(), size_); }
    ByteView view() const&& = delete;  // would point into a temporary

  private:
    std::array<char, N> bytes_;
    std::size_t size_ = 0;
};

}  // namespace tiderace::http::wire
