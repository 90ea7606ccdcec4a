// Pattern: what a text may look like. Compiled by the compiler, matched in linear time: there is no
// backtracking, so no text makes it slow.
//
//     a  .  [a-z_]  [^0-9]  \d \w \s \.     one character; . and [^…] match any character of UTF-8
//     x?  x*  x+  x{3}  x{2,}  x{2,8}       how often the character before it may come
//
// The whole text has to match. There are no groups, no alternatives and no anchors: ( ) | ^ $ are
// refused while compiling (write \( for the character). Classes hold ASCII only.
//
//     positions of "[a-z]+\d{1,2}":  (0) [a-z]+  (1) \d  (2) \d?  (3) end
//     One set of positions is carried over the text; each character makes the next set.
//
// Thread   Any; no state.
// Limits   pattern_positions_max positions; a text above pattern_text_bytes_max does not match.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

namespace tiderace::json {

inline constexpr std::size_t pattern_positions_max = 256;
inline constexpr std::size_t pattern_text_bytes_max = 4096;

template <std::size_t bytes>
struct PatternText {
    char text[bytes];
    consteval PatternText(const char (&literal)[bytes]) {  // NOLINT: made of a literal
        for (std::size_t i = 0; i < bytes; ++i) text[i] = literal[i];
    }
    constexpr std::string_view view() const { return {text, bytes - 1}; }
};

struct PatternItem {
    std::uint64_t ascii[2] = {};  // the ASCII characters that it matches, one bit each
    bool others = false;          // every other character
    std::uint16_t least = 1;
    std::uint16_t most = 1;
    bool no_end = false;  // the last of `most` may come again

    constexpr void add(unsigned char c) { ascii[c / 64] |= std::uint64_t{1} << (c % 64); }
    constexpr void add(unsigned char first, unsigned char last) {
        for (unsigned c = first; c <= last; ++c) add(static_cast<unsigned char>(c));
    }
    constexpr void invert() {
        for (std::uint64_t& half : ascii) half = ~half;
        others = !others;
    }
};

bool matches(std::span<const PatternItem> pattern, std::string_view text);

// Reads the pattern; a call of `refuse` while compiling is the error that the user sees.
class PatternCompiler {
  public:
    constexpr explicit PatternCompiler(std::string_view pattern) : rest_(pattern) {}

    constexpr bool done() const { return rest_.empty(); }
    constexpr PatternItem next() {
        PatternItem item;
        const char c = take();
        if (c == '[')
            read_class(item);
        else if (c == '\\')
            add_escape(item, take());
        else if (c == '.')
            item.invert();
        else if (is_special(c))
            refuse("pattern: ( ) | ^ $ { } * + ? need a backslash here");
        else if (static_cast<unsigned char>(c) >= 0x80)
            refuse("pattern: only ASCII characters");
        else
            item.add(static_cast<unsigned char>(c));
        read_count(item);
        return item;
    }
    static void refuse(const char* why);  // not constexpr on purpose

  private:
    static constexpr bool is_special(char c) {
        return std::string_view("()|^$*+?{}]").find(c) != std::string_view::npos;
    }
    constexpr char take() {
        if (rest_.empty()) refuse("pattern: ends too early");
        const char c = rest_.front();
        rest_.remove_prefix(1);
        return c;
    }
    static constexpr void add_escape(PatternItem& item, char c) {
        if (c == 'd') return item.add('0', '9');
        if (c == 's') return (item.add('\t', '\r'), item.add(' '));
        if (c == 'w') {
            item.add('a', 'z');
            item.add('A', 'Z');
            item.add('0', '9');
            return item.add('_');
        }
        const bool is_letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
        if (is_letter || (c >= '0' && c <= '9')) refuse("pattern: unknown escape");
        item.add(static_cast<unsigned char>(c));
    }
    constexpr void read_class(PatternItem& item) {
        const bool inverted = !rest_.empty() && rest_.front() == '^';
        if (inverted) take();
        if (!rest_.empty() && rest_.front() == ']') refuse("pattern: empty class []");
        for (char c = take(); c != ']'; c = take()) {
            if (static_cast<unsigned char>(c) >= 0x80) refuse("pattern: only ASCII characters");
            if (c == '\\') {
                add_escape(item, take());
            } else if (rest_.size() > 1 && rest_[0] == '-' && rest_[1] != ']') {
                take();
                const char last = take();
                if (last < c || last == '\\') refuse("pattern: a range runs backwards");
                item.add(static_cast<unsigned char>(c), static_cast<unsigned char>(last));
            } else {
                item.add(static_cast<unsigned char>(c));
            }
        }
        if (inverted) item.invert();
    }
    constexpr std::uint16_t read_number() {
        unsigned number = 0;
        bool any = false;
        while (!rest_.empty() && rest_.front() >= '0' && rest_.front() <= '9') {
            number = number * 10 + static_cast<unsigned>(take() - '0');
            any = true;
            if (number > pattern_positions_max) refuse("pattern: counts go up to 256");
        }
        if (!any) refuse("pattern: expected a number in {…}");
        return static_cast<std::uint16_t>(number);
    }
    constexpr void read_count(PatternItem& item) {
        const char c = rest_.empty() ? '\0' : rest_.front();
        if (c != '?' && c != '*' && c != '+' && c != '{') return;
        take();
        item.least = c == '+' ? 1 : 0;
        item.no_end = c == '*' || c == '+';
        if (c != '{') return;
        item.least = item.most = read_number();
        if (!rest_.empty() && rest_.front() == ',') {
            take();
            item.no_end = !rest_.empty() && rest_.front() == '}';
            item.most = item.no_end ? (item.least > 0 ? item.least : 1) : read_number();
        }
        if (take() != '}' || item.most < item.least) refuse("pattern: {…} is {n}, {n,} or {n,m}");
    }

    std::string_view rest_;
};

template <PatternText text>
consteval auto compile_pattern() {
    constexpr std::size_t count = [] {
        std::size_t items = 0;
        std::size_t positions = 0;
        for (PatternCompiler compiler(text.view()); !compiler.done(); ++items) {
            positions += compiler.next().most;
        }
        if (positions > pattern_positions_max) PatternCompiler::refuse("pattern: too long");
        return items;
    }();
    std::array<PatternItem, count> items;
    PatternCompiler compiler(text.view());
    for (PatternItem& item : items) item = compiler.next();
    return items;
}

}  // namespace tiderace::json
