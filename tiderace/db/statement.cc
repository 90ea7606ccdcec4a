#include "tiderace/db/statement.h"

#include <algorithm>
#include <array>
#include <utility>

#include "tiderace/base/ascii.h"
#include "tiderace/base/enum_names.h"

namespace tiderace::db {
namespace {

// Words that make a select one that changes something.
constexpr std::array<std::string_view, 4> changers = {"into", "nextval", "setval", "pg_notify"};

class Scanner {
  public:
    Scanner(std::string_view sql, Dialect dialect) : sql_(sql), dialect_(dialect) {}

    Scanned run() {
        while (at_ < sql_.size()) step();
        out_.reads = !changes_ && (first_word_ == "select" || first_word_ == "values" ||
                                   first_word_ == "show" || first_word_ == "explain");
        out_.with = first_word_ == "with";
        out_.listens = dialect_ == Dialect::postgres && first_word_ == "listen";
        return std::move(out_);
    }

    std::size_t start_of(std::size_t index) {
        bool within = false;
        while (at_ < sql_.size()) {
            const char c = sql_[at_];
            if (past_comment() == at_ && !is_space(c)) {
                if (c == ';') {
                    if (within) --index;  // between two of them there is no statement to count
                } else if (!within && index == 0) {
                    return at_;
                }
                within = c != ';';
            }
            step();
        }
        return std::string_view::npos;
    }

  private:
    void step() {
        const char c = sql_[at_];
        if (const std::size_t end = past_comment(); end > at_) {
            // Its content is not read here, so the worse is assumed.
            if (is_executed_comment()) changes_ = true;
            return copy(end);
        }
        if (is_space(c)) return copy(at_ + 1);
        if (c == ';') {
            ended_ = true;
            return copy(at_ + 1);
        }
        // Anything but space and comments after a ';'.
        if (ended_) out_.many = true;
        if (c == '\'' || c == '"' || c == '`') return copy(past_quotes(at_, c, escapes(c)));
        if (is_identifier_character(c)) return word();
        if (c == '$' && dialect_ == Dialect::postgres) return copy(past_dollars());
        if (c == '?') return question();
        copy(at_ + 1);
    }

    void question() {
        // PostgreSQL has operators of question marks (jsonb's ?, ?| and ?&): "??" stands for one of
        // them.
        if (dialect_ == Dialect::postgres && at(at_ + 1) == '?') {
            out_.text += '?';
            at_ += 2;
            return;
        }
        ++out_.parameters;
        ++at_;
        if (dialect_ == Dialect::postgres) {
            out_.text.append("$").append(std::to_string(out_.parameters));
        } else {
            out_.text += '?';
        }
    }

    void word() {
        std::size_t end = at_;
        // A $ inside a name is a letter of it, and begins no $tag$.
        while (end < sql_.size() && (is_identifier_character(sql_[end]) || sql_[end] == '$')) ++end;
        const std::string_view found = sql_.substr(at_, end - at_);
        std::string small = lower_case(found);
        const auto is = [&](std::string_view word) { return small == word; };
        if (std::any_of(changers.begin(), changers.end(), is)) changes_ = true;
        // It runs the statement that it explains.
        if (first_word_ == "explain" && (is("analyze") || is("analyse"))) changes_ = true;
        if (first_word_.empty()) first_word_ = std::move(small);
        // In this kind of string alone PostgreSQL reads backslashes (standard_conforming_strings).
        if (dialect_ == Dialect::postgres && to_lower(found[0]) == 'e' && found.size() == 1 &&
            at(end) == '\'') {
            end = past_quotes(end, '\'', true);
        }
        copy(end);
    }

    // Standard SQL doubles a quote; MariaDB's strings also take a backslash (unless
    // NO_BACKSLASH_ESCAPES).
    bool escapes(char quote) const { return dialect_ == Dialect::mariadb && quote != '`'; }

    std::size_t past_quotes(std::size_t from, char quote, bool backslashes) const {
        for (std::size_t i = from + 1; i < sql_.size(); ++i) {
            if (backslashes && sql_[i] == '\\') {
                ++i;
            } else if (sql_[i] == quote) {
                if (at(i + 1) != quote) return i + 1;
                ++i;
            }
        }
        return sql_.size();
    }

    // $tag$ … $tag$; a lone $ is a character like any other.
    std::size_t past_dollars() const {
        std::size_t end = at_ + 1;
        while (end < sql_.size() && is_identifier_character(sql_[end])) ++end;
        if (at(end) != '$') return at_ + 1;
        const std::string_view tag = sql_.substr(at_, end + 1 - at_);
        const std::size_t close = sql_.find(tag, end + 1);
        return close == sql_.npos ? sql_.size() : close + tag.size();
    }

    std::size_t past_comment() const {
        const char c = sql_[at_];
        const bool dashes = c == '-' && at(at_ + 1) == '-';
        // MariaDB wants a space behind them: 5--3 is 8 there.
        const bool line = (dashes && (dialect_ != Dialect::mariadb ||
                                      static_cast<unsigned char>(at(at_ + 2)) <= 0x20)) ||
                          (c == '#' && dialect_ == Dialect::mariadb);
        if (line) return std::min(sql_.find('\n', at_), sql_.size());
        if (c != '/' || at(at_ + 1) != '*') return at_;
        // PostgreSQL's comments nest; the others end at the first mark.
        std::size_t depth = 1;
        for (std::size_t i = at_ + 2; i < sql_.size(); ++i) {
            if (sql_[i] == '*' && at(i + 1) == '/') {
                if (--depth == 0) return i + 2;
                ++i;
            } else if (dialect_ == Dialect::postgres && sql_[i] == '/' && at(i + 1) == '*') {
                ++depth;
                ++i;
            }
        }
        return sql_.size();
    }

    // MariaDB and MySQL do what stands in such a one.
    bool is_executed_comment() const {
        return dialect_ == Dialect::mariadb &&
               (sql_.substr(at_).starts_with("/*!") || sql_.substr(at_).starts_with("/*M!"));
    }

    char at(std::size_t index) const { return index < sql_.size() ? sql_[index] : '\0'; }
    void copy(std::size_t end) {
        out_.text.append(sql_.substr(at_, end - at_));
        at_ = end;
    }

    std::string_view sql_;
    Dialect dialect_;
    std::size_t at_ = 0;
    bool ended_ = false;
    bool changes_ = false;  // a word or a comment that reads do not have
    std::string first_word_;
    Scanned out_;
};

}  // namespace

std::string_view name_of(Dialect dialect) {
    return enum_names<Dialect>[static_cast<std::size_t>(dialect)].name;
}

Scanned scan(std::string_view sql, Dialect dialect) {
    return Scanner(sql, dialect).run();
}

std::size_t start_of_statement(std::string_view script, std::size_t index, Dialect dialect) {
    return Scanner(script, dialect).start_of(index);
}

std::size_t line_at(std::string_view text, std::size_t byte) {
    const std::string_view before = text.substr(0, byte);
    return 1 + static_cast<std::size_t>(std::count(before.begin(), before.end(), '\n'));
}

}  // namespace tiderace::db
