// HtmlContext: where an HTML text is, after the literal text of a template. It follows the states
// of the HTML standard's tokenizer (section 13.2.5), and says for each value how it is escaped, or
// why none may stand there.
//
//   text ──<──> tag name ──> tag ──> attribute name ──=──> quoted value ──> tag ──>──> text
//     │                                                                                │
//     └── <!-- comment -->, <!doctype>                 <script>, <style>, <title> … ───┘
//
// Two contexts are joined where branches of {% if %} meet; what differs in a way that matters is
// refused.
//
// Thread   Any; a plain value.
// Keywords: XSS, contextual escaping
#pragma once

#include <cstddef>
#include <cstdint>
#include <expected>
#include <optional>
#include <string>
#include <string_view>

#include "tiderace/text/escape.h"
#include "tiderace/text/html_names.h"
#include "tiderace/text/script_context.h"
#include "tiderace/text/url_context.h"

namespace tiderace::text {

class HtmlContext {
  public:
    struct Refusal {
        std::size_t offset;  // in the text
        std::string problem;
    };

    // Literal text of the template, which is written as it is.
    std::optional<Refusal> literal(std::string_view text);
    // A value: how it is escaped, or why none may stand here and what to write instead.
    std::expected<Escape, std::string> value();
    // Whether HTML may stand here: between tags.
    bool is_text() const { return state_ == State::text; }
    // Where it is: "in the text", "in the quoted value of href".
    std::string describe() const;

    // A loop's body begins here, and may begin where it ended before.
    void enter_loop() {
        if (in_script()) script_.forget_slash();
    }
    // The context after either of two branches; false: they end in different places.
    bool join(const HtmlContext& other);
    bool operator==(const HtmlContext&) const = default;

  private:
    enum class State : std::uint8_t {
        text,
        tag_open,      // behind <
        end_tag_open,  // behind </
        markup,        // behind <!
        comment,
        declaration,  // <!doctype …> and what browsers take for a comment
        tag_name,
        tag,          // between attributes
        tag_unclear,  // branches ended differently: a space, / or > has to follow
        attribute_name,
        after_name,
        before_value,
        double_quoted,
        single_quoted,
        unquoted,
        raw,  // in an element whose content is no HTML: element_ says which
    };

    bool in_value() const {
        return state_ == State::double_quoted || state_ == State::single_quoted;
    }
    bool in_script() const {
        return (state_ == State::raw && element_ == Element::script && !script_is_data_) ||
               (in_value() && attribute_ == Attribute::event);
    }
    std::string step(char c, std::string_view rest);
    std::string step_tag(char c);
    std::string step_raw(char c);
    void step_text(char c) {
        if (c == '<') state_ = State::tag_open;
    }
    std::string step_open(char c);
    std::string step_markup(char c);
    void step_comment(char c);
    std::string step_attribute_name(char c);
    void step_before_value(char c);
    std::string step_value(char c, std::string_view rest);
    void begin_tag(char c, bool is_end);
    void begin_attribute(char c);
    // Back to the text, in the same elements.
    void restart();
    void count_foreign(std::uint16_t& depth, bool is_self_closing);
    bool is_foreign() const { return svg_depth_ > 0 || math_depth_ > 0; }
    void end_value();
    std::string end_tag(bool is_self_closing);
    std::expected<Escape, std::string> value_in_attribute();
    std::expected<Escape, std::string> value_in_raw();
    std::string refusal_in_tag() const;
    bool join_tags(const HtmlContext& other);

    State state_ = State::text;
    Element element_ = Element::other;  // whose content, or whose tag, this is
    Attribute attribute_ = Attribute::plain;
    bool is_end_tag_ = false;
    bool after_slash_ = false;     // in a tag: a > here ends a self-closing one
    bool is_fresh_ = false;        // a comment that holds nothing yet
    bool after_bang_ = false;      // in a comment, behind --!
    bool has_entity_ = false;      // in an event handler: its text is not what it looks like
    bool has_http_equiv_ = false;  // of a <meta>
    bool has_content_ = false;     // of a <meta>: a value stands in its content
    bool script_is_data_ = false;  // a <script> of a type that is no JavaScript
    std::uint8_t dashes_ = 0;      // in a comment, at its end
    // Open <svg> and <math>, in which browsers read a <script> or <title> differently.
    std::uint16_t svg_depth_ = 0;
    std::uint16_t math_depth_ = 0;
    std::string tag_name_;
    std::string attribute_name_;
    std::string pending_;  // after a < in an element: what may become its end tag, or <!--
    std::string type_;     // the literal type of a <script>
    UrlContext url_;
    ScriptContext script_;
};

}  // namespace tiderace::text
