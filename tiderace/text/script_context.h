// ScriptContext: where a JavaScript text is, after the literal text of a template: in code, in a
// string, in a comment … It reads the text once, character by character.
//
//            "            '            `            /              // and /*
//   code ──> string ──>   string ──>   template ──> expression ──> comment ──> code
//
// Whether `/` divides or begins a regular expression depends on what stands before it. Where that
// needs a real parser (after `)` and `}`), the rest of the script is `uncertain`, and values are
// refused there.
//
// Thread   Any; a plain value.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace tiderace::text {

class ScriptContext {
  public:
    enum class State : std::uint8_t {
        code,
        double_quoted,
        single_quoted,
        template_literal,
        line_comment,
        block_comment,
        expression,        // a regular one
        expression_class,  // [ … ] in it
        uncertain,
    };
    static constexpr std::size_t nested_templates_max = 16;

    void step(char c);
    // A value was written here.
    void value();
    State state() const { return state_; }
    bool is_string() const {
        return state_ == State::double_quoted || state_ == State::single_quoted;
    }
    // Why no value may stand here, and what to write instead; "" where one may.
    std::string_view refusal() const;
    // Forgets what a `/` would be, because several ways lead here.
    void forget_slash();
    // The context after either; false: they differ.
    bool join(const ScriptContext& other);
    bool operator==(const ScriptContext&) const = default;

  private:
    enum class Slash : std::uint8_t { expression, division, unknown };

    void step_code(char c);
    void step_word(char c);
    void step_mark(char c);
    bool step_after_slash(char c);
    void step_template(char c);
    void step_comment(char c);
    void step_expression(char c);

    State state_ = State::code;
    Slash slash_ = Slash::expression;
    bool escaped_ = false;    // behind a backslash
    bool after_dot_ = false;  // a word here is a member's name
    char last_ = 0;           // the character before, where it matters
    std::string word_;        // being read; only its beginning is kept
    std::string braces_;      // for each ${ around: how many { are open in it
};

}  // namespace tiderace::text
