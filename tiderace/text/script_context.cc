#include "tiderace/text/script_context.h"

#include <algorithm>
#include <array>

#include "tiderace/base/ascii.h"

namespace tiderace::text {
namespace {

constexpr std::size_t word_bytes_max = 16;
// A count of braces_ is a char, which has to stay below 127.
constexpr char braces_max = 120;

constexpr bool in_word(char c) {
    return is_identifier_character(c) || c == '$';
}
constexpr bool is_line_end(char c) {
    return c == '\n' || c == '\r';
}

// A `/` after one of these begins a regular expression.
constexpr std::array<std::string_view, 14> words_before_expression = {
    "return", "typeof", "case", "in",   "of",    "delete", "void",
    "throw",  "new",    "do",   "else", "await", "yield",  "instanceof"};

}  // namespace

void ScriptContext::step(char c) {
    if (escaped_) {
        escaped_ = false;
        return;
    }
    switch (state_) {
        case State::code:
            return step_code(c);
        case State::double_quoted:
        case State::single_quoted:
            if (c == '\\') escaped_ = true;
            if (is_line_end(c)) state_ = State::uncertain;  // a mistake; a browser stops here
            if (c == (state_ == State::double_quoted ? '"' : '\'')) {
                state_ = State::code;
                slash_ = Slash::division;
            }
            return;
        case State::template_literal:
            return step_template(c);
        case State::line_comment:
        case State::block_comment:
            return step_comment(c);
        case State::expression:
        case State::expression_class:
            return step_expression(c);
        case State::uncertain:
            return;
    }
}

void ScriptContext::step_code(char c) {
    if (last_ == '/' && step_after_slash(c)) return;
    if (in_word(c)) return step_word(c);
    word_.clear();
    if (c == ' ' || c == '\t' || c == '\f' || c == '\v' || is_line_end(c)) {
        // A blank behind a '.' changes nothing: `a. return` is still a member's name.
        if (last_ != '.') last_ = 0;
        return;
    }
    step_mark(c);
}

void ScriptContext::step_word(char c) {
    if (word_.empty() && last_ != '.') after_dot_ = false;
    if (word_.size() < word_bytes_max) word_ += c;
    // Looked up at each character, since the word may end here: `in` is one, `int` is not.
    const bool is_keyword =
        std::ranges::find(words_before_expression, word_) != words_before_expression.end();
    slash_ = is_keyword && !after_dot_ ? Slash::expression : Slash::division;
    last_ = 0;
}

// A mark of code, which is no part of a word.
void ScriptContext::step_mark(char c) {
    const char before = last_;
    last_ = c;
    if (c == '/') return;
    after_dot_ = c == '.';
    if (c == '"' || c == '\'') {
        state_ = c == '"' ? State::double_quoted : State::single_quoted;
        last_ = 0;
    } else if (c == '`') {
        state_ = State::template_literal;
        last_ = 0;
    } else if (c == ')') {
        // `if (x) /re/` or `(x) / 2`: only a parser knows.
        slash_ = Slash::unknown;
    } else if (c == ']') {
        slash_ = Slash::division;
    } else if (c == '}') {
        // The end of a block, an object or a function: a '/' may be either. It may also end the ${
        // of a template literal, if no { is open in there.
        slash_ = Slash::unknown;
        if (!braces_.empty() && braces_.back() == 0) {
            braces_.pop_back();
            state_ = State::template_literal;
            last_ = 0;
        } else if (!braces_.empty()) {
            --braces_.back();
        }
    } else {
        if (c == '{' && !braces_.empty() && ++braces_.back() > braces_max) {
            state_ = State::uncertain;
        }
        // `<!--`, and `-->` at the start of a line, are comments; `++ /` and `1. /` may be either.
        if ((c == '>' && before == '-') || (c == '!' && before == '<')) state_ = State::uncertain;
        const bool twice = (c == '+' || c == '-') && before == c;
        slash_ = twice || c == '.' ? Slash::unknown : Slash::expression;
    }
}

// Whether `c` was used up: what the `/` before it was is known now.
bool ScriptContext::step_after_slash(char c) {
    last_ = 0;
    if (c == '/' || c == '*') {
        state_ = c == '/' ? State::line_comment : State::block_comment;
        return true;
    }
    if (slash_ == Slash::division) {
        slash_ = Slash::expression;
        return false;
    }
    state_ = slash_ == Slash::unknown ? State::uncertain : State::expression;
    step(c);
    return true;
}

void ScriptContext::step_template(char c) {
    if (c == '\\') {
        escaped_ = true;
        last_ = 0;
    } else if (c == '`') {
        state_ = State::code;
        slash_ = Slash::division;
        last_ = 0;
    } else if (c == '{' && last_ == '$') {
        state_ = braces_.size() < nested_templates_max ? State::code : State::uncertain;
        slash_ = Slash::expression;
        braces_ += '\0';  // no { is open yet in this ${
        last_ = 0;
    } else {
        last_ = c;
    }
}

void ScriptContext::step_comment(char c) {
    // The last byte of U+2028 and U+2029 in UTF-8; both end a line of JavaScript (ECMA-262, 12.3).
    const bool ends_line = is_line_end(c) || c == '\xA8' || c == '\xA9';
    if (state_ == State::line_comment ? is_line_end(c) : (c == '/' && last_ == '*')) {
        state_ = State::code;
        last_ = 0;
    } else if (state_ == State::line_comment && ends_line) {
        state_ = State::uncertain;  // whether it was one of these is not worth three bytes here
    } else {
        last_ = c;
    }
}

void ScriptContext::step_expression(char c) {
    if (c == '\\') {
        escaped_ = true;
    } else if (is_line_end(c)) {
        state_ = State::uncertain;
    } else if (c == '[') {
        state_ = State::expression_class;
    } else if (c == ']') {
        state_ = State::expression;
    } else if (c == '/' && state_ == State::expression) {
        state_ = State::code;
        slash_ = Slash::division;
    }
}

void ScriptContext::value() {
    if (state_ != State::code) return;
    slash_ = Slash::division;
    word_.clear();
    last_ = 0;
}

void ScriptContext::forget_slash() {
    if (state_ != State::code) return;
    slash_ = Slash::unknown;
    word_.clear();
    after_dot_ = false;
    // An unfinished `/` is kept, because the next character decides about it.
    if (last_ != '/') last_ = 0;
}

bool ScriptContext::join(const ScriptContext& other) {
    if (*this == other) return true;
    ScriptContext copy = other;
    copy.forget_slash();
    forget_slash();
    return *this == copy;
}

std::string_view ScriptContext::refusal() const {
    if (escaped_) return "a value cannot follow a backslash; write the backslash twice or leave it";
    switch (state_) {
        case State::code:
            return last_ == '/' ? "a value cannot follow a '/'; put a space between them" : "";
        case State::double_quoted:
        case State::single_quoted:
            return "";
        case State::template_literal:
            return "a template literal has no safe escaping; write '…' + {{ value }} + '…'";
        case State::line_comment:
        case State::block_comment:
            return "a value in a JavaScript comment has no safe escaping; remove it, or use "
                   "{# … #} for comments of the template";
        case State::expression:
        case State::expression_class:
            return "a regular expression has no safe escaping; write new RegExp({{ value }})";
        case State::uncertain:
            break;
    }
    return "code before it leaves open where strings begin and end (a '/' after ')' or '}', '-->', "
           "or a line that ends inside a string); put the values in a <script> of their own";
}

}  // namespace tiderace::text
