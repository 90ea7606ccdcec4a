// Internal. TextOut: the tokens of JSON appended to a std::string, with strings escaped and numbers
// short.
//
// Collects in a block of its own, so that a token costs a copy and not a call of the string's.
//
// Owner    The writer; the string is complete after flush() or the end of this object.
// Errors   A value that JSON cannot express is replaced, and is_exact() is false from then on: NaN
//          and infinity become null, bytes that are not UTF-8 become U+FFFD.
// Memory   block_bytes on the stack.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

#include "tiderace/base/language.h"

namespace tiderace::json {

class TextOut {
  public:
    static constexpr std::size_t block_bytes = 512;

    explicit TextOut(std::string& to) : to_(to) {}
    ~TextOut() { flush(); }
    TextOut(const TextOut&) = delete;
    TextOut& operator=(const TextOut&) = delete;

    void put(char c) {
        if (used_ == block_bytes) flush();
        block_[used_++] = c;
    }
    void put(std::string_view text) {
        if (text.size() > block_bytes - used_) return put_long(text);
        if (text.empty()) return;  // of a view that is nowhere
        std::memcpy(block_ + used_, text.data(), text.size());
        used_ += text.size();
    }
    // `before`, a brace or a comma, and `"name":`. names.h refuses names that need escapes.
    void member(char before, std::string_view name) {
        constexpr std::size_t around = 4;
        if (name.size() + around > block_bytes - used_) return put_long_member(before, name);
        char* at = block_ + used_;
        *at++ = before;
        *at++ = '"';
        at = static_cast<char*>(std::memcpy(at, name.data(), name.size())) + name.size();
        *at++ = '"';
        *at++ = ':';
        used_ += name.size() + around;
    }
    // In quotes, escaped.
    void string(std::string_view text);
    void integer(std::int64_t value);
    void integer(std::uint64_t value);
    void number(double value);
    void number(float value);
    void boolean(bool value) { put(value ? std::string_view("true") : std::string_view("false")); }
    void null() { put(std::string_view("null")); }
    // Notes that the text just written differs from the value.
    void replaced() { exact_ = false; }

    bool is_exact() const { return exact_; }
    void flush() {
        to_.append(block_, used_);
        used_ = 0;
    }

  private:
    void put_long(std::string_view text);
    void put_long_member(char before, std::string_view name);
    void escape(unsigned char c);
    template <typename T>
    void real(T value);
    char* room(std::size_t bytes) {
        if (block_bytes - used_ < bytes) flush();
        return block_ + used_;
    }

    std::string& to_;
    std::size_t used_ = 0;
    bool exact_ = true;
    char block_[block_bytes];
};

}  // namespace tiderace::json
