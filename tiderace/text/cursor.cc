#include "tiderace/text/cursor.h"

namespace tiderace::text {

std::string_view Cursor::peek_word() {
    skip_blanks();
    std::size_t end = at_;
    if (end < text_.size() && is_identifier_character(text_[end]) && !is_digit(text_[end])) {
        while (end < text_.size() && is_identifier_character(text_[end])) ++end;
    }
    return text_.substr(at_, end - at_);
}

std::optional<std::string_view> Cursor::quoted() {
    const char quote = peek();
    for (std::size_t end = at_ + 1; end < text_.size(); ++end) {
        // The character behind a backslash never ends the text; unescaped() gives it its meaning.
        if (text_[end] == '\\') {
            ++end;
        } else if (text_[end] == quote) {
            const std::string_view inside = text_.substr(at_ + 1, end - at_ - 1);
            at_ = end + 1;
            return inside;
        }
    }
    return std::nullopt;
}

std::string Cursor::found() {
    skip_blanks();
    if (at_end()) return "the end of the template";
    std::string_view next = peek_word();
    if (next.empty()) {
        // Marks of two or three characters are quoted whole, longest first, or "%}" would be "%".
        for (const std::string_view mark : {"-%}", "-}}", "%}", "}}", "==", "!=", "<=", ">="}) {
            if (next.empty() && rest().starts_with(mark)) next = mark;
        }
    }
    if (next.empty()) next = rest().substr(0, 1);
    return '"' + std::string(next) + '"';
}

bool Cursor::fail(std::size_t offset, std::string problem) {
    if (!fault_) fault_ = fault_at(source_, offset, std::move(problem));
    return false;
}

bool Cursor::fail_expected(std::string_view expected) {
    const std::string what = found();
    return fail(at_, "expected " + std::string(expected) + ", found " + what);
}

}  // namespace tiderace::text
