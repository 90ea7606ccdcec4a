// Cursor: reads the words of a template's tag, one after the other, and notes the first fault.
//
// Thread   One at a time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "tiderace/base/ascii.h"
#include "tiderace/text/fault.h"

namespace tiderace::text {

class Cursor {
  public:
    explicit Cursor(const Source& source) : source_(source), text_(source.text) {}

    std::size_t at() const { return at_; }
    std::uint32_t offset() const { return static_cast<std::uint32_t>(at_); }
    void move_to(std::size_t at) { at_ = at; }
    std::string_view rest() const { return text_.substr(at_); }
    bool at_end() const { return at_ >= text_.size(); }
    char peek() const { return at_ < text_.size() ? text_[at_] : '\0'; }

    void skip_blanks() {
        while (at_ < text_.size() && is_space(text_[at_])) ++at_;
    }
    // Skips blanks, and `mark` where it is next.
    bool accept(std::string_view mark) {
        skip_blanks();
        if (!rest().starts_with(mark)) return false;
        at_ += mark.size();
        return true;
    }
    // The word that is next, or ""; it stays if it is not `taken`.
    std::string_view peek_word();
    std::string_view word() {
        const std::string_view found = peek_word();
        at_ += found.size();
        return found;
    }
    bool accept_word(std::string_view wanted) {
        if (peek_word() != wanted) return false;
        at_ += wanted.size();
        return true;
    }
    // A text in '' or "" of which the opening quote is next. Its inside, with \" \' \\ \n in it
    // not yet replaced; nullopt: it does not end.
    std::optional<std::string_view> quoted();

    // What stands here, for messages: a word, a mark, "the end of the template".
    std::string found();
    // Notes the fault, if it is the first; returns false.
    bool fail(std::size_t offset, std::string problem);
    // "expected …, found …" here.
    bool fail_expected(std::string_view expected);
    std::optional<Fault>& fault() { return fault_; }

  private:
    const Source& source_;
    std::string_view text_;
    std::size_t at_ = 0;
    std::optional<Fault> fault_;
};

}  // namespace tiderace::text
