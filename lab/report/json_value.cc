#include "lab/report/json_value.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <optional>
#include <span>

#include "tiderace/base/check.h"
#include "tiderace/http/wire/bounded_text.h"
#include "tiderace/http/wire/json_escape.h"

namespace tiderace::lab::report {
namespace {

void append_quoted(std::string& out, std::string_view text) {
    std::string room(text.size() * http::wire::json_growth_max + 1, '\0');
    http::wire::BoundedText escaped{std::span<char>(room)};
    http::wire::append_json(escaped, text);
    out += '"';
    out += escaped.view();
    out += '"';
}

void append_number(std::string& out, double number) {
    if (!std::isfinite(number)) {
        out += "null";
        return;
    }
    std::array<char, 32> digits;
    const bool is_whole = number == std::floor(number) && std::abs(number) < 9e15;
    const auto end = is_whole
                         ? std::to_chars(digits.data(), digits.data() + digits.size(),
                                         static_cast<std::int64_t>(number))
                               .ptr
                         : std::to_chars(digits.data(), digits.data() + digits.size(), number).ptr;
    out.append(digits.data(), end);
}

void append_utf8(std::string& out, std::uint32_t point) {
    const auto put = [&out](std::uint32_t byte) { out += static_cast<char>(byte); };
    if (point < 0x80) return put(point);
    if (point < 0x800) {
        put(0xC0 | point >> 6);
    } else {
        if (point < 0x10000) {
            put(0xE0 | point >> 12);
        } else {
            put(0xF0 | point >> 18);
            put(0x80 | (point >> 12 & 63));
        }
        put(0x80 | (point >> 6 & 63));
    }
    put(0x80 | (point & 63));
}

const JsonValue nothing;

}  // namespace

// Recursive descent, no deeper than depth_max.
class JsonParser {
  public:
    explicit JsonParser(std::string_view text) : rest_(text) {}

    std::expected<JsonValue, std::string> parse() {
        if (rest_.size() > JsonValue::text_bytes_max) return std::unexpected("too long");
        JsonValue value;
        bool fine = read_value(value, 0);
        skip_space();
        if (fine && !rest_.empty()) fine = wrong("something follows the value");
        if (!fine) return std::unexpected(fault_ + " in line " + std::to_string(line_));
        return value;
    }

  private:
    bool wrong(std::string_view what) {
        if (fault_.empty()) fault_ = what;
        return false;
    }

    void skip_space() {
        while (!rest_.empty() && std::string_view(" \t\r\n").contains(rest_[0])) {
            line_ += rest_[0] == '\n';
            rest_.remove_prefix(1);
        }
    }
    bool take(char wanted) {
        skip_space();
        if (!rest_.starts_with(wanted)) return false;
        rest_.remove_prefix(1);
        return true;
    }
    bool take_word(std::string_view word) {
        if (!rest_.starts_with(word)) return false;
        rest_.remove_prefix(word.size());
        return true;
    }

    bool read_value(JsonValue& value, unsigned depth) {
        if (depth > JsonValue::depth_max) return wrong("nested too deeply");
        skip_space();
        if (rest_.empty()) return wrong("the text ends too early");
        switch (rest_[0]) {
            case '{':
                return read_object(value, depth);
            case '[':
                return read_list(value, depth);
            case '"': {
                std::string text;
                if (!read_string(text)) return false;
                value = JsonValue(std::move(text));
                return true;
            }
            default:
                return read_word(value);
        }
    }

    bool read_word(JsonValue& value) {
        if (take_word("true")) {
            value = JsonValue(true);
        } else if (take_word("false")) {
            value = JsonValue(false);
        } else if (take_word("null")) {
            value = JsonValue();
        } else {
            return read_number(value);
        }
        return true;
    }

    bool read_number(JsonValue& value) {
        // from_chars takes "inf" and "nan", which JSON has not.
        const bool begins = rest_[0] == '-' || (rest_[0] >= '0' && rest_[0] <= '9');
        double number = 0;
        const auto [end, failure] =
            std::from_chars(rest_.data(), rest_.data() + rest_.size(), number);
        if (!begins || failure != std::errc{} || !std::isfinite(number)) {
            return wrong("not a JSON value");
        }
        rest_.remove_prefix(static_cast<std::size_t>(end - rest_.data()));
        value = JsonValue(number);
        return true;
    }

    bool read_object(JsonValue& value, unsigned depth) {
        take('{');
        value = JsonValue::object();
        if (take('}')) return true;
        do {
            skip_space();
            std::string name;
            if (!rest_.starts_with('"')) return wrong("a name in quotes is expected");
            if (!read_string(name)) return false;
            if (!take(':')) return wrong("a colon is expected");
            JsonValue member;
            if (!read_value(member, depth + 1)) return false;
            std::get<JsonValue::Members>(value.value_)
                .emplace_back(std::move(name), std::move(member));
        } while (take(','));
        return take('}') || wrong("a comma or } is expected");
    }

    bool read_list(JsonValue& value, unsigned depth) {
        take('[');
        value = JsonValue(JsonValue::List{});
        if (take(']')) return true;
        do {
            JsonValue element;
            if (!read_value(element, depth + 1)) return false;
            value.add(std::move(element));
        } while (take(','));
        return take(']') || wrong("a comma or ] is expected");
    }

    bool read_string(std::string& out) {
        rest_.remove_prefix(1);
        while (!rest_.empty()) {
            const char c = rest_[0];
            rest_.remove_prefix(1);
            if (c == '"') return true;
            if (static_cast<unsigned char>(c) < 0x20) return wrong("a control character");
            if (c != '\\') {
                out += c;
            } else if (!read_escape(out)) {
                return wrong("a wrong escape");
            }
        }
        return wrong("a string without its end");
    }

    bool read_escape(std::string& out) {
        if (rest_.empty()) return false;
        const char c = rest_[0];
        rest_.remove_prefix(1);
        constexpr std::string_view names = "\"\\/bfnrt";
        constexpr std::string_view meanings = "\"\\/\b\f\n\r\t";
        if (const std::size_t found = names.find(c); found != names.npos) {
            out += meanings[found];
            return true;
        }
        if (c != 'u') return false;
        std::optional<std::uint32_t> point = read_hex();
        if (!point) return false;
        if (*point >= 0xD800 && *point < 0xDC00 && take_word("\\u")) {
            const std::optional<std::uint32_t> low = read_hex();
            if (!low || *low < 0xDC00 || *low > 0xDFFF) return false;
            *point = 0x10000 + ((*point - 0xD800) << 10) + (*low - 0xDC00);
        }
        // A lone half of a pair is no character.
        append_utf8(out, *point >= 0xD800 && *point <= 0xDFFF ? 0xFFFD : *point);
        return true;
    }

    std::optional<std::uint32_t> read_hex() {
        std::uint32_t point = 0;
        if (rest_.size() < 4) return std::nullopt;
        const auto [end, failure] = std::from_chars(rest_.data(), rest_.data() + 4, point, 16);
        if (failure != std::errc{} || end != rest_.data() + 4) return std::nullopt;
        rest_.remove_prefix(4);
        return point;
    }

    std::string_view rest_;
    std::size_t line_ = 1;
    std::string fault_;
};

std::expected<JsonValue, std::string> JsonValue::parse(std::string_view text) {
    return JsonParser(text).parse();
}

JsonValue& JsonValue::set(std::string_view name, JsonValue value) {
    TR_CHECK(is_object(), "only an object has members");
    std::get<Members>(value_).emplace_back(std::string(name), std::move(value));
    return *this;
}

JsonValue& JsonValue::add(JsonValue value) {
    TR_CHECK(is_list(), "only a list has elements");
    std::get<List>(value_).push_back(std::move(value));
    return *this;
}

const JsonValue& JsonValue::operator[](std::string_view name) const {
    const auto& all = members();
    const auto found = std::ranges::find(all, name, &Member::first);
    return found == all.end() ? nothing : found->second;
}

std::string JsonValue::text(std::string_view otherwise) const {
    const auto* found = std::get_if<std::string>(&value_);
    return found ? *found : std::string(otherwise);
}

double JsonValue::number(double otherwise) const {
    const auto* found = std::get_if<double>(&value_);
    return found ? *found : otherwise;
}

std::uint64_t JsonValue::count() const {
    const double found = number();
    return found > 0 && found < 1.8e19 ? static_cast<std::uint64_t>(found) : 0;
}

bool JsonValue::flag(bool otherwise) const {
    const auto* found = std::get_if<bool>(&value_);
    return found ? *found : otherwise;
}

const JsonValue::List& JsonValue::list() const {
    static const List empty;
    const auto* found = std::get_if<List>(&value_);
    return found ? *found : empty;
}

const std::vector<JsonValue::Member>& JsonValue::members() const {
    static const Members empty;
    const auto* found = std::get_if<Members>(&value_);
    return found ? *found : empty;
}

std::string JsonValue::write(bool indented) const {
    std::string out;
    write_to(out, 0, indented ? 2 : 0);
    return out;
}

void JsonValue::write_to(std::string& out, unsigned depth, unsigned indented_depth) const {
    const auto separate = [&](bool first, unsigned at) {
        if (!first) out += ',';
        if (depth < indented_depth) out.append("\n").append(at * std::size_t{2}, ' ');
    };
    if (const auto* list = std::get_if<List>(&value_)) {
        out += '[';
        for (std::size_t i = 0; i < list->size(); ++i) {
            separate(i == 0, depth + 1);
            (*list)[i].write_to(out, depth + 1, indented_depth);
        }
        if (!list->empty()) separate(true, depth);
        out += ']';
    } else if (const auto* object = std::get_if<Members>(&value_)) {
        out += '{';
        for (std::size_t i = 0; i < object->size(); ++i) {
            separate(i == 0, depth + 1);
            append_quoted(out, (*object)[i].first);
            out += ':';
            (*object)[i].second.write_to(out, depth + 1, indented_depth);
        }
        if (!object->empty()) separate(true, depth);
        out += '}';
    } else if (const auto* text = std::get_if<std::string>(&value_)) {
        append_quoted(out, *text);
    } else if (const auto* number = std::get_if<double>(&value_)) {
        append_number(out, *number);
    } else if (const auto* flag = std::get_if<bool>(&value_)) {
        out += *flag ? "true" : "false";
    } else {
        out += "null";
    }
}

}  // namespace tiderace::lab::report
