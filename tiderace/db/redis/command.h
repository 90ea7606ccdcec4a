// Internal. Command: a command as the server reads it, and what the client has to know about it.
//
//   {"SET", "key", "value"}  ->  "*3\r\n$3\r\nSET\r\n…", its key, whether it only reads
//
// Thread   Any; pure functions.
#pragma once

#include <array>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>

#include "tiderace/base/language.h"

namespace tiderace::db::redis {

using Arguments = std::span<const std::string_view>;

enum class Use : std::uint8_t {
    shared,      // on the connection that all tasks of a loop use
    blocking,    // the server may answer late: it holds its connection
    connection,  // changes how the connection behaves: not for one that others use
};

struct Command {
    std::string bytes;
    std::uint32_t key_at = 0;  // of the first key, in `bytes`
    std::uint32_t key_bytes = 0;
    bool has_key = false;
    bool reads = false;  // it changes nothing, so that it may be sent again
    Use use = Use::shared;

    std::string_view key() const { return std::string_view(bytes).substr(key_at, key_bytes); }
};

Command make_command(Arguments arguments);

// A word of a command: text, or a whole number.
template <typename T>
concept Word = std::is_convertible_v<const T&, std::string_view> ||
               (std::is_integral_v<T> && !std::is_same_v<T, bool> && !std::is_same_v<T, char>);

// A word as text, for the length of a call.
class WordText {
  public:
    explicit WordText(std::string_view text) : text_(text) {}
    template <typename T>
        requires std::is_integral_v<T>
    explicit WordText(T number) {
        char* const begin = digits_.data();
        bytes_ = static_cast<std::size_t>(std::to_chars(begin, begin + digits_.size(), number).ptr -
                                          begin);
    }
    WordText(const WordText&) = delete;
    WordText& operator=(const WordText&) = delete;
    std::string_view view() const {
        return bytes_ > 0 ? std::string_view(digits_.data(), bytes_) : text_;
    }

  private:
    std::string_view text_;
    std::array<char, 20> digits_;
    std::size_t bytes_ = 0;
};

// Not a list in braces: g++ 12 cannot compile one in a co_await.
template <Word... Words>
Command make_command(std::string_view name, const Words&... words) {
    const std::array<WordText, sizeof...(Words)> texts{WordText(words)...};
    std::array<std::string_view, sizeof...(Words) + 1> all;
    all[0] = name;
    for (std::size_t i = 0; i < texts.size(); ++i) all[i + 1] = texts[i].view();
    return make_command(Arguments(all));
}

inline constexpr std::uint16_t slots = 16'384;
// In a cluster: the slot of a key, or of its part between { and }.
std::uint16_t slot_of(std::string_view key);

}  // namespace tiderace::db::redis
