#include "tiderace/http/wire/h2/priority.h"

#include <algorithm>
#include <optional>

#include "tiderace/http/wire/field_syntax.h"

namespace tiderace::http::wire {
namespace {

constexpr bool is_lower(char c) {
    return c >= 'a' && c <= 'z';
}

// What an item can be for us: an integer, a boolean, or something that no member of ours is.
struct Item {
    enum class Type : std::uint8_t { integer, boolean, other };
    Type type = Type::other;
    std::int64_t number = 0;  // 0 or 1 for a boolean
};

// Reads a structured field (RFC 9651, section 4.2) from the front. Each step is false, or empty,
// where the text is not one.
class DictionaryReader {
  public:
    explicit DictionaryReader(ByteView text) : rest_(text) {}

    // The whole field: nullopt where it is not a dictionary.
    std::optional<H2Priority> read() {
        H2Priority priority;
        skip(" ");
        while (!rest_.empty()) {
            const ByteView key = read_key();
            if (key.empty()) return std::nullopt;
            const std::optional<Item> item = read_member();
            if (!item) return std::nullopt;
            take(key, *item, priority);
            skip(" \t");
            if (rest_.empty()) break;
            if (!accept(',')) return std::nullopt;
            skip(" \t");
            if (rest_.empty()) return std::nullopt;  // a comma at the end
        }
        return priority;
    }

  private:
    // The last one of a key counts, also when it takes back what came before.
    static void take(ByteView key, const Item& item, H2Priority& priority) {
        // Values out of range and of other types are ignored (RFC 9218, 4), which leaves the
        // default.
        if (key == "u") {
            const bool fits = item.type == Item::Type::integer && item.number >= 0 &&
                              item.number <= H2Priority::least_urgent;
            priority.urgency = fits ? static_cast<std::uint8_t>(item.number) : H2Priority().urgency;
        } else if (key == "i") {
            priority.incremental = item.type == Item::Type::boolean && item.number == 1;
        }
    }

    void skip(ByteView set) {
        rest_.remove_prefix(std::min(rest_.find_first_not_of(set), rest_.size()));
    }
    bool accept(char c) {
        if (rest_.empty() || rest_.front() != c) return false;
        rest_.remove_prefix(1);
        return true;
    }
    template <typename Fits>
    ByteView take_while(Fits fits) {
        std::size_t end = 0;
        while (end < rest_.size() && fits(rest_[end])) ++end;
        const ByteView taken = rest_.substr(0, end);
        rest_.remove_prefix(end);
        return taken;
    }

    ByteView read_key() {
        if (rest_.empty() || (!is_lower(rest_.front()) && rest_.front() != '*')) return {};
        return take_while(
            [](char c) { return is_lower(c) || is_digit(c) || syntax::contains("_-.*", c); });
    }

    // What follows a key: "=value" or nothing, which is true; then parameters.
    std::optional<Item> read_member() {
        Item item{Item::Type::boolean, 1};
        if (accept('=')) {
            const std::optional<Item> given = accept('(') ? read_inner_list() : read_bare_item();
            if (!given) return std::nullopt;
            item = *given;
        }
        if (!read_parameters()) return std::nullopt;
        return item;
    }

    bool read_parameters() {
        while (accept(';')) {
            skip(" ");
            if (read_key().empty()) return false;
            if (accept('=') && !read_bare_item()) return false;
        }
        return true;
    }

    std::optional<Item> read_inner_list() {
        while (true) {
            skip(" ");
            if (accept(')')) return Item{};
            if (!read_bare_item() || !read_parameters()) return std::nullopt;
            if (rest_.empty() || (rest_.front() != ' ' && rest_.front() != ')'))
                return std::nullopt;
        }
    }

    std::optional<Item> read_bare_item() {
        if (rest_.empty()) return std::nullopt;
        const char c = rest_.front();
        if (c == '-' || is_digit(c)) return read_number();
        if (accept('?')) return read_boolean();
        if (accept('"')) return read_string();
        if (accept(':')) return read_bytes();
        if (accept('@')) return read_date();
        if (c == '*' || is_letter(c)) return read_token();
        return std::nullopt;
    }

    // At most 15 digits; with a fraction at most 12, and one to three behind the point.
    std::optional<Item> read_number() {
        const bool negative = accept('-');
        const ByteView digits = take_while(is_digit);
        if (digits.empty() || digits.size() > 15) return std::nullopt;
        if (accept('.')) {
            const std::size_t fraction = take_while(is_digit).size();
            if (digits.size() > 12 || fraction == 0 || fraction > 3) return std::nullopt;
            return Item{};
        }
        std::int64_t number = 0;
        for (const char c : digits) number = number * 10 + (c - '0');
        return Item{Item::Type::integer, negative ? -number : number};
    }
    std::optional<Item> read_date() {
        const std::optional<Item> seconds = read_number();
        if (!seconds || seconds->type != Item::Type::integer) return std::nullopt;
        return Item{};
    }
    std::optional<Item> read_boolean() {
        if (accept('1')) return Item{Item::Type::boolean, 1};
        if (accept('0')) return Item{Item::Type::boolean, 0};
        return std::nullopt;
    }
    std::optional<Item> read_string() {
        while (!rest_.empty()) {
            const char c = rest_.front();
            rest_.remove_prefix(1);
            if (c == '"') return Item{};
            if (c < 0x20 || c > 0x7e) return std::nullopt;
            if (c == '\\' && !accept('"') && !accept('\\')) return std::nullopt;
        }
        return std::nullopt;
    }
    std::optional<Item> read_bytes() {
        take_while([](char c) { return is_letter_or_digit(c) || syntax::contains("+/=", c); });
        if (!accept(':')) return std::nullopt;
        return Item{};
    }
    std::optional<Item> read_token() {
        take_while([](char c) { return is(token_byte, c) || c == ':' || c == '/'; });
        return Item{};
    }

    ByteView rest_;
};

}  // namespace

H2Priority parse_h2_priority(ByteView value) {
    // A field that does not parse is ignored as a whole (RFC 9218, 4), so the defaults hold.
    return DictionaryReader(value).read().value_or(H2Priority());
}

}  // namespace tiderace::http::wire
