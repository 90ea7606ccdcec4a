#include "tiderace/resp/inline_command.h"

#include <algorithm>

#include "tiderace/base/ascii.h"

namespace tiderace::resp {
namespace {

// What no person types.
bool is_control(char c) {
    return c >= 0 && c < ' ' && !is_space(c);
}

char escaped(char c) {
    switch (c) {
        case 'n':
            return '\n';
        case 'r':
            return '\r';
        case 't':
            return '\t';
        case 'b':
            return '\b';
        case 'a':
            return '\a';
        default:
            return c;
    }
}

class Words {
  public:
    Words(ByteView line, std::string& text) : line_(line), text_(&text) {}

    bool skip_spaces() {
        while (at_ < line_.size() && is_space(line_[at_])) ++at_;
        return at_ < line_.size();
    }
    // From here to the end of the word.
    bool word() {
        while (at_ < line_.size() && !is_space(line_[at_])) {
            const char c = line_[at_++];
            // A quote may begin inside a word, but its end has to be the end of the word.
            if (c == '"' || c == '\'') return c == '"' ? in_double_quotes() : in_single_quotes();
            text_->push_back(c);
        }
        return true;
    }

  private:
    bool closed() const { return at_ == line_.size() || is_space(line_[at_]); }

    bool in_double_quotes() {
        while (at_ < line_.size()) {
            const char c = line_[at_++];
            if (c == '"') return closed();
            if (c != '\\' || at_ == line_.size()) {
                text_->push_back(c);
                continue;
            }
            // \x without two digits behind it is an x, as in Redis.
            if (line_[at_] == 'x' && at_ + 2 < line_.size()) {
                const int high = hex_value(line_[at_ + 1]);
                const int low = hex_value(line_[at_ + 2]);
                if (high >= 0 && low >= 0) {
                    text_->push_back(static_cast<char>(high << 4 | low));
                    at_ += 3;
                    continue;
                }
            }
            text_->push_back(escaped(line_[at_++]));
        }
        return false;
    }
    bool in_single_quotes() {
        while (at_ < line_.size()) {
            char c = line_[at_++];
            if (c == '\'') return closed();
            if (c == '\\' && at_ < line_.size() && line_[at_] == '\'') c = line_[at_++];
            text_->push_back(c);
        }
        return false;
    }

    ByteView line_;
    std::string* text_;
    std::size_t at_ = 0;
};

}  // namespace

bool has_control_bytes(ByteView line) {
    return std::ranges::any_of(line, is_control);
}

bool ends_inline(char byte) {
    return byte == '\n' || is_control(byte);
}

bool is_http(ByteView text, const std::vector<Range>& words) {
    if (words.empty()) return false;
    const auto word = [text](Range range) { return text.substr(range.offset, range.bytes); };
    const ByteView first = word(words.front());
    if (first.ends_with(':') || equals_ignoring_case(first, "post")) return true;
    return words.size() > 1 && word(words.back()).starts_with("HTTP/");
}

bool split_inline(ByteView line, std::string& text, std::vector<Range>& words) {
    Words rest(line, text);
    while (rest.skip_spaces()) {
        const std::size_t first = text.size();
        if (!rest.word()) return false;
        words.push_back(
            {static_cast<std::uint32_t>(first), static_cast<std::uint32_t>(text.size() - first)});
    }
    return true;
}

}  // namespace tiderace::resp
