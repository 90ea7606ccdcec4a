#include "server/config/format.h"

#include <algorithm>
#include <cstdint>

namespace tiderace::server::config {
namespace {

constexpr std::string_view byte_order_mark = "\xEF\xBB\xBF";
constexpr std::size_t indent_columns = 2;

enum class Kind : std::uint8_t { blanks, line_end, comment, string, word, mark };

struct Token {
    Kind kind;
    std::string_view text;

    bool is(char mark) const { return kind == Kind::mark && text[0] == mark; }
};

bool is_blank(char c) {
    return c == ' ' || c == '\t';
}

// A string of one line, or of several where it begins with three quotes.
std::size_t string_size(std::string_view text) {
    const char quote = text[0];
    const std::string_view three = quote == '"' ? "\"\"\"" : "'''";
    const bool is_long = text.starts_with(three);
    std::size_t at = is_long ? 3 : 1;
    while (at < text.size()) {
        if (quote == '"' && text[at] == '\\') {
            at += 2;
        } else if (!is_long && (text[at] == quote || text[at] == '\n')) {
            return text[at] == quote ? at + 1 : at;
        } else if (is_long && text.substr(at).starts_with(three)) {
            at += 3;
            // Two more may be the last characters of the string.
            for (int more = 0; more < 2 && at < text.size() && text[at] == quote; ++more) ++at;
            return at;
        } else {
            ++at;
        }
    }
    return text.size();
}

std::size_t run_of(std::string_view text, auto belongs) {
    const auto end = std::ranges::find_if_not(text, belongs);
    return static_cast<std::size_t>(end - text.begin());
}

Token next_token(std::string_view text) {
    constexpr std::string_view marks = "=,[]{}";
    const char c = text[0];
    if (c == '\n') return {Kind::line_end, text.substr(0, 1)};
    if (text.starts_with("\r\n")) return {Kind::line_end, text.substr(0, 2)};
    if (is_blank(c)) return {Kind::blanks, text.substr(0, run_of(text, is_blank))};
    if (c == '#') {
        std::string_view comment = text.substr(0, text.find('\n'));
        if (comment.ends_with('\r')) comment.remove_suffix(1);
        return {Kind::comment, comment};
    }
    if (c == '"' || c == '\'') return {Kind::string, text.substr(0, string_size(text))};
    if (marks.contains(c)) return {Kind::mark, text.substr(0, 1)};
    const auto is_word = [&](char each) {
        return !is_blank(each) && !marks.contains(each) &&
               !std::string_view("\r\n#\"'").contains(each);
    };
    return {Kind::word, text.substr(0, std::max<std::size_t>(run_of(text, is_word), 1))};
}

class Formatter {
  public:
    explicit Formatter(std::string_view text) : rest_(text) {}

    Formatted format() {
        if (rest_.starts_with(byte_order_mark)) {
            result_.text = byte_order_mark;
            rest_.remove_prefix(byte_order_mark.size());
        }
        const std::size_t end = rest_.find('\n');
        line_end_ = end != rest_.npos && end > 0 && rest_[end - 1] == '\r' ? "\r\n" : "\n";
        while (!rest_.empty()) format_line();
        if (empty_line_ != 0) result_.changed_lines.push_back(empty_line_);
        return std::move(result_);
    }

  private:
    // A line; of one in which a long string ends, all lines of the string.
    void format_line() {
        const std::string_view begin = rest_;
        line_.clear();
        is_key_ = open_.empty();
        is_header_ = false;
        was_blank_ = false;
        last_ = {Kind::line_end, ""};
        bool has_end = false;
        while (!rest_.empty() && !has_end) {
            const Token token = next_token(rest_);
            rest_.remove_prefix(token.text.size());
            has_end = token.kind == Kind::line_end;
            if (token.kind == Kind::blanks) {
                was_blank_ = true;
            } else if (!has_end) {
                add(token, begin);
            }
        }
        add_line(begin.substr(0, begin.size() - rest_.size()), has_end);
    }

    // Bytes between the last line end before the token and it.
    static std::size_t column_of(std::string_view line, std::string_view token) {
        const auto before = line.substr(0, static_cast<std::size_t>(token.data() - line.data()));
        return before.size() - (before.rfind('\n') + 1);
    }

    void add(const Token& token, std::string_view line) {
        const bool is_first = line_.empty();
        if (is_first) {
            is_header_ = open_.empty() && token.is('[');
            const bool closes = token.is(']') || token.is('}');
            const std::size_t depth = open_.size() - (closes && !open_.empty() ? 1 : 0);
            line_.assign(depth * indent_columns, ' ');
        }
        if (token.kind == Kind::comment) {
            add_comment(token.text, is_first, column_of(line, token.text));
        } else {
            if (!is_first && needs_space(token)) line_ += ' ';
            line_ += token.text;
        }
        if (token.kind == Kind::mark) follow(token.text[0]);
        last_ = token;
        was_blank_ = false;
    }

    void add_comment(std::string_view comment, bool is_first, std::size_t column) {
        const std::size_t end = comment.find_last_not_of(" \t");
        if (!is_first) {
            const std::size_t used = line_.size() - (line_.rfind('\n') + 1);
            line_.append(std::max(column, used + 2) - used, ' ');
        }
        line_ += comment.substr(0, end + 1);
    }

    // Between the last token and this one, which are on one line.
    bool needs_space(const Token& token) const {
        if (is_header_) return false;
        if (token.is(']') || token.is(',') || last_.is('[')) return false;
        if (last_.is('{')) return !token.is('}');
        if (token.is('}') || token.is('=') || last_.is('=') || last_.is(',')) return true;
        // A date and its time have a space between them, parts of a key need none.
        return was_blank_ && !is_key_;
    }

    void follow(char mark) {
        if (is_header_) return;
        if (mark == '[' || mark == '{') {
            open_.push_back(mark);
        } else if ((mark == ']' || mark == '}') && !open_.empty()) {
            open_.pop_back();
        }
        const bool in_table = !open_.empty() && open_.back() == '{';
        is_key_ = mark != '=' && in_table && (mark == '{' || mark == ',');
    }

    void add_line(std::string_view before, bool has_end) {
        const bool is_empty = line_.empty();
        std::string_view whole = before;
        if (has_end) whole.remove_suffix(whole.ends_with("\r\n") ? 2 : 1);
        const bool is_left_out = is_empty && (is_blank_before_ || !has_end);
        const bool is_changed =
            is_left_out || whole != line_ || !has_end || before.substr(whole.size()) != line_end_;
        if (is_changed) result_.changed_lines.push_back(line_number_);
        line_number_ += static_cast<std::size_t>(std::ranges::count(before, '\n'));
        if (is_left_out) return;
        // Written before the next line, so that none is at the end.
        if (is_empty) {
            empty_line_ = line_number_ - 1;
        } else {
            if (empty_line_ != 0) result_.text += line_end_;
            empty_line_ = 0;
            result_.text.append(line_).append(line_end_);
        }
        is_blank_before_ = is_empty;
    }

    std::string_view rest_;
    std::string_view line_end_;
    Formatted result_;
    std::string line_;
    std::vector<char> open_;  // brackets
    Token last_{Kind::line_end, ""};
    bool was_blank_ = false;
    bool is_key_ = true;
    bool is_header_ = false;
    bool is_blank_before_ = true;  // none at the beginning
    std::size_t empty_line_ = 0;   // that is not written yet; 0: none
    std::size_t line_number_ = 1;
};

}  // namespace

Formatted format_toml(std::string_view text) {
    return Formatter(text).format();
}

}  // namespace tiderace::server::config
