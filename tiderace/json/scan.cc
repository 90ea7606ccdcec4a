#include "tiderace/json/scan.h"

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <system_error>

#include "tiderace/base/ascii.h"
#include "tiderace/base/utf8.h"

namespace tiderace::json {
namespace {

// Distinguishes numbers too large for a double from those too small, which become zero. The power
// of ten of the first digit that is not zero decides.
bool is_above_one(ByteView number) {
    const std::size_t mark = std::min(number.find_first_of("eE"), number.size());
    const ByteView digits = number.substr(0, mark);
    const std::size_t point = std::min(digits.find('.'), digits.size());
    const std::size_t first = digits.find_first_of("123456789");
    if (first == ByteView::npos) return false;
    const auto power = static_cast<std::int64_t>(point) - static_cast<std::int64_t>(first);
    ByteView exponent = number.substr(std::min(mark + 1, number.size()));
    if (exponent.starts_with('+')) exponent.remove_prefix(1);
    std::int64_t shift = 0;
    const auto read = std::from_chars(exponent.data(), exponent.data() + exponent.size(), shift);
    if (read.ec == std::errc::result_out_of_range) return !exponent.starts_with('-');
    return shift > -power;
}

// `integer` is one of JSON: digits, perhaps behind a '-'.
bool fits_64_bits(std::string_view integer) {
    const auto fits = [&](auto value) {
        const char* const end = integer.data() + integer.size();
        return std::from_chars(integer.data(), end, value).ec == std::errc{};
    };
    return integer.starts_with('-') ? fits(std::int64_t{}) : fits(std::uint64_t{});
}

// Moves over a text. After a fault it stays where that is.
class Scanner {
  public:
    Scanner(ByteView text, std::size_t depth_max) : text_(text), levels_left_(depth_max) {}

    bool document() {
        if (!value()) return false;
        space();
        return at_ == text_.size() || fail("expected the end of the text");
    }
    bool value() {
        space();
        switch (peek()) {
            case '{':
                return container('}', "expected ',' or '}' after the member");
            case '[':
                return container(']', "expected ',' or ']' after the element");
            case '"':
                return string();
            case 't':
                return word("true");
            case 'f':
                return word("false");
            case 'n':
                return word("null");
            default:
                return number();
        }
    }
    // Moves into an object or array, to the value of its `ordinal`th member or element.
    void enter(std::size_t ordinal) {
        space();
        const bool is_object = peek() == '{';
        ++at_;
        for (std::size_t i = 0; i <= ordinal; ++i) {
            if (is_object) key();
            space();
            if (i == ordinal || !value()) return;
            space();
            ++at_;  // the comma
        }
    }
    void space() {
        while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\t' ||
                                      text_[at_] == '\n' || text_[at_] == '\r')) {
            ++at_;
        }
    }
    std::size_t at() const { return at_; }
    SyntaxFault fault() const { return {at_, problem_, too_deep_}; }

  private:
    char peek() const { return at_ < text_.size() ? text_[at_] : '\0'; }
    bool fail(const char* problem) {
        problem_ = problem;
        return false;
    }
    // The second check tells the end of the text from a NUL in it.
    bool skip(char c) {
        if (peek() != c || at_ == text_.size()) return false;
        ++at_;
        return true;
    }
    bool word(ByteView name) {
        for (const char c : name) {
            if (!skip(c)) return fail("expected a value");
        }
        return true;
    }
    bool key() {
        space();
        if (peek() != '"') return fail("expected a member's name in quotes");
        if (!string()) return false;
        space();
        return skip(':') || fail("expected ':' after the member's name");
    }
    bool container(char last, const char* problem) {
        // value() and container() recurse, so the depth bounds the stack.
        if (levels_left_ == 0) {
            too_deep_ = true;
            return fail("too many levels");
        }
        --levels_left_;
        ++at_;
        space();
        if (skip(last)) return leave();
        while (true) {
            if (last == '}' && !key()) return false;
            if (!value()) return false;
            space();
            if (skip(last)) return leave();
            if (!skip(',')) return fail(problem);
        }
    }
    bool leave() {
        ++levels_left_;
        return true;
    }
    bool digits() {
        if (peek() < '0' || peek() > '9') return fail("expected a digit");
        while (peek() >= '0' && peek() <= '9') ++at_;
        return true;
    }
    bool number() {
        const std::size_t first = at_;
        skip('-');
        if (at_ == first && (peek() < '0' || peek() > '9')) return fail("expected a value");
        if (!skip('0') && !digits()) return false;
        if (skip('.') && !digits()) return false;
        if (skip('e') || skip('E')) {
            if (!skip('-')) skip('+');
            if (!digits()) return false;
        }
        // simdjson refuses numbers that no double can hold, so their place is reported here.
        const ByteView number = text_.substr(first, at_ - first);
        double value = 0;
        const auto read = std::from_chars(number.data(), number.data() + number.size(), value);
        if (read.ec == std::errc::result_out_of_range && is_above_one(number)) {
            at_ = first;
            return fail("a number beyond what a double can hold");
        }
        return true;
    }
    // Four hexadecimal digits; -1 after a fault.
    int four_digits() {
        int code = 0;
        for (int i = 0; i < 4; ++i) {
            const int digit = hex_value(peek());
            if (at_ == text_.size() || digit < 0) {
                fail("expected four hexadecimal digits");
                return -1;
            }
            code = code << 4 | digit;
            ++at_;
        }
        return code;
    }
    bool escape() {
        const std::size_t first = at_++;
        if (at_ < text_.size() && ByteView("\"\\/bfnrt").find(peek()) != ByteView::npos) {
            ++at_;
            return true;
        }
        if (!skip('u')) return fail("no such escape");
        const int code = four_digits();
        if (code < 0) return false;
        // A surrogate has to be the first half of a pair (RFC 8259, 7 and 8.2): UTF-8 has no form
        // of a half.
        if (code < 0xD800 || code > 0xDFFF) return true;
        const bool paired = code < 0xDC00 && skip('\\') && skip('u');
        const int low = paired ? four_digits() : 0;
        if (low < 0) return false;
        if (low >= 0xDC00 && low <= 0xDFFF) return true;
        at_ = first;
        return fail("half of a surrogate pair");
    }
    bool string() {
        ++at_;
        while (at_ < text_.size()) {
            const auto c = static_cast<unsigned char>(text_[at_]);
            if (c == '"') return ++at_ != 0;  // true
            if (c < 0x20) return fail("a control character has to be escaped");
            if (c == '\\') {
                if (!escape()) return false;
                continue;
            }
            const Utf8Char read = first_utf8_char(text_.substr(at_));
            if (!read.valid) return fail("not UTF-8");
            at_ += read.size;
        }
        return fail("expected the quote that ends the string");
    }

    ByteView text_;
    std::size_t at_ = 0;
    std::size_t levels_left_;
    const char* problem_ = "";
    bool too_deep_ = false;
};

}  // namespace

std::optional<SyntaxFault> first_fault(ByteView text, std::size_t depth_max) {
    Scanner scanner(text, depth_max);
    if (scanner.document()) return std::nullopt;
    return scanner.fault();
}

std::size_t offset_of(ByteView text, std::span<const std::size_t> ordinals) {
    // The text was parsed within its depth, so none is checked here.
    Scanner scanner(text, std::numeric_limits<std::size_t>::max());
    for (const std::size_t ordinal : ordinals) scanner.enter(ordinal);
    scanner.space();
    return scanner.at();
}

bool may_have_surrogates(ByteView text) {
    // Also behind a backslash that is itself escaped: then the text is scanned for nothing.
    for (std::size_t at = text.find("\\u"); at != ByteView::npos; at = text.find("\\u", at + 2)) {
        const ByteView code = text.substr(at + 2, 2);
        if (code.size() == 2 && (code[0] | 0x20) == 'd' && hex_value(code[1]) >= 8) return true;
    }
    return false;
}

std::string with_large_integers_as_numbers(ByteView text) {
    std::string widened;
    for (std::size_t at = 0; at < text.size();) {
        const char c = text[at];
        std::size_t end = at + 1;
        if (c == '"') {
            while (text[end] != '"') end += text[end] == '\\' ? 2 : 1;
            widened += text.substr(at, ++end - at);
        } else if (c == '-' || (c >= '0' && c <= '9')) {
            end = std::min(text.find_first_not_of("0123456789+-.eE", at), text.size());
            const std::string_view number = text.substr(at, end - at);
            widened += number;
            if (number.find_first_of(".eE") == number.npos && !fits_64_bits(number)) {
                widened += ".0";
            }
        } else {
            widened += c;
        }
        at = end;
    }
    return widened;
}

}  // namespace tiderace::json
