#include "tiderace/text/html_context.h"

#include <utility>

namespace tiderace::text {
namespace {

constexpr std::size_t name_bytes_max = 64;  // longer ones are no names that we know

bool may_begin_entity(std::string_view rest) {
    if (rest.size() < 2) return true;  // the next piece decides
    const char next = rest[1];
    return next == '#' || is_letter(next);
}

}  // namespace

// Follows the browser's tokenizer (HTML, 13.2.5) for the author's own text. It need not be
// complete: a text that it does not understand is refused when the template is loaded, never when
// it is shown.
std::optional<HtmlContext::Refusal> HtmlContext::literal(std::string_view text) {
    for (std::size_t at = 0; at < text.size(); ++at) {
        std::string problem = step(text[at], text.substr(at));
        if (!problem.empty()) return Refusal{at, std::move(problem)};
    }
    return std::nullopt;
}

// The problem; "" when there is none. `rest` begins with `c`.
std::string HtmlContext::step(char c, std::string_view rest) {
    switch (state_) {
        case State::text:
            step_text(c);
            return {};
        case State::tag_open:
        case State::end_tag_open:
            return step_open(c);
        case State::markup:
            return step_markup(c);
        case State::comment:
            step_comment(c);
            return {};
        case State::declaration:
            if (c == '>') restart();
            return {};
        case State::tag_name:
        case State::tag:
        case State::tag_unclear:
        case State::after_name:
            return step_tag(c);
        case State::attribute_name:
            return step_attribute_name(c);
        case State::before_value:
            if (c == '>') return end_tag(false);
            step_before_value(c);
            return {};
        case State::double_quoted:
        case State::single_quoted:
        case State::unquoted:
            return step_value(c, rest);
        case State::raw:
            return step_raw(c);
    }
    std::unreachable();
}

std::string HtmlContext::step_open(char c) {
    const bool is_end = state_ == State::end_tag_open;
    if (is_letter(c)) {
        begin_tag(c, is_end);
    } else if (is_end) {
        // "</" before anything but a letter begins a comment up to the next '>' (13.2.5.7).
        state_ = c == '>' ? State::text : State::declaration;
    } else if (c == '/') {
        state_ = State::end_tag_open;
    } else if (c == '!') {
        state_ = State::markup;
        pending_.clear();
    } else if (c == '?') {
        state_ = State::declaration;
    } else {
        state_ = c == '<' ? State::tag_open : State::text;
    }
    return {};
}

std::string HtmlContext::step_markup(char c) {
    // HTML takes it for a comment up to the next '>', and SVG for text up to "]]>".
    if (c == '[') return "a CDATA section is read differently in HTML and in SVG; write text";
    if (c == '-' && pending_.empty()) {
        pending_ = "-";
    } else if (c == '-' && pending_ == "-") {
        restart();
        state_ = State::comment;
        is_fresh_ = true;
    } else {
        restart();
        state_ = c == '>' ? State::text : State::declaration;
    }
    return {};
}

// Ends at -->, at --!>, and at once: <!--> and <!--->.
void HtmlContext::step_comment(char c) {
    // A browser that ended the comment earlier than we do would show what we take for a comment, so
    // all four endings of the standard count (13.2.5.43 to 52).
    if (c == '>' && (dashes_ >= 2 || after_bang_ || (is_fresh_ && dashes_ <= 1))) {
        restart();
        return;
    }
    after_bang_ = c == '!' && dashes_ >= 2;
    dashes_ = c == '-' ? static_cast<std::uint8_t>(dashes_ < 2 ? dashes_ + 1 : 2) : 0;
    if (c != '-') is_fresh_ = false;
}

void HtmlContext::begin_tag(char c, bool is_end) {
    restart();
    state_ = State::tag_name;
    is_end_tag_ = is_end;
    tag_name_ = to_lower(c);
}

// In the name of a tag, between attributes, and behind the name of one.
std::string HtmlContext::step_tag(char c) {
    const bool was_slash = std::exchange(after_slash_, false);
    if (state_ == State::tag_name && c != '/' && c != '>' && !is_html_space(c)) {
        if (c == '<') return "a '<' in the name of a tag; is a '>' missing before it?";
        if (tag_name_.size() < name_bytes_max) tag_name_ += to_lower(c);
        return {};
    }
    if (state_ == State::tag_name) element_ = element_of(tag_name_);
    if (c == '>') return end_tag(was_slash);
    if (c == '/') {
        after_slash_ = true;
        state_ = State::tag;
    } else if (is_html_space(c)) {
        if (state_ != State::after_name) state_ = State::tag;
    } else if (state_ == State::tag_unclear) {
        return "the branches before it end differently inside the tag; put a space here";
    } else if (c == '=' && state_ == State::after_name) {
        state_ = State::before_value;
    } else if (c == '=') {
        return "a '=' without the name of an attribute before it";
    } else {
        begin_attribute(c);
        // These are faults at the start of a name as well as inside it.
        return c == '"' || c == '\'' || c == '<' ? step_attribute_name(c) : std::string();
    }
    return {};
}

void HtmlContext::begin_attribute(char c) {
    state_ = State::attribute_name;
    attribute_name_ = to_lower(c);
}

std::string HtmlContext::step_attribute_name(char c) {
    if (is_html_space(c)) {
        state_ = State::after_name;
        return {};
    }
    if (c == '=') {
        state_ = State::before_value;
        return {};
    }
    if (c == '/' || c == '>') {
        state_ = State::tag;
        return step_tag(c);
    }
    if (c == '"' || c == '\'' || c == '<') {
        return std::string("a ") + c +
               " in the name of an attribute; is a quote or a '>' missing before it?";
    }
    if (attribute_name_.size() < name_bytes_max) attribute_name_ += to_lower(c);
    return {};
}

void HtmlContext::step_before_value(char c) {
    if (is_html_space(c)) return;
    attribute_ = attribute_of(element_, tag_name_, attribute_name_);
    // Remembered for the tag, because content may stand before http-equiv or behind it.
    if (attribute_ == Attribute::http_equiv) has_http_equiv_ = true;
    url_.begin(attribute_ == Attribute::code_url);
    script_ = {};
    has_entity_ = false;
    if (c == '"' || c == '\'') {
        state_ = c == '"' ? State::double_quoted : State::single_quoted;
    } else {
        state_ = State::unquoted;
        if (attribute_ == Attribute::script_type) type_ += c;
    }
}

std::string HtmlContext::step_value(char c, std::string_view rest) {
    const bool ends = state_ == State::unquoted
                          ? is_html_space(c) || c == '>'
                          : c == (state_ == State::double_quoted ? '"' : '\'');
    if (ends) {
        // An unquoted value is ended by the tag's own '>', which the tag also has to see.
        const bool closes = c == '>' && state_ == State::unquoted;
        end_value();
        // Refused at the end of either attribute, since they may come in any order.
        if (has_http_equiv_ && has_content_) {
            return "a <meta> with http-equiv may be a redirect; its content must be literal";
        }
        return closes ? end_tag(false) : std::string();
    }
    if (attribute_ == Attribute::script_type && type_.size() < name_bytes_max) type_ += c;
    if (attribute_ == Attribute::event) {
        // The browser decodes entities before it parses the script, so the script's own state is
        // unknown behind one.
        has_entity_ = has_entity_ || (c == '&' && may_begin_entity(rest));
        script_.step(c);
    }
    if (attribute_ == Attribute::url || attribute_ == Attribute::code_url) {
        return std::string(url_.step(c, rest));
    }
    return {};
}

void HtmlContext::end_value() {
    state_ = State::tag;
    attribute_ = Attribute::plain;
    attribute_name_.clear();
    url_ = {};
    script_ = {};
    has_entity_ = false;
}

std::string HtmlContext::end_tag(bool is_self_closing) {
    if (state_ == State::tag_name) element_ = element_of(tag_name_);
    if (tag_name_ == "svg") count_foreign(svg_depth_, is_self_closing);
    if (tag_name_ == "math") count_foreign(math_depth_, is_self_closing);
    const bool has_content = element_ == Element::script || element_ == Element::style ||
                             element_ == Element::escapable || element_ == Element::opaque;
    // Back to the start state, in which nothing of this tag is left.
    if (is_end_tag_ || !has_content) {
        restart();
        return {};
    }
    // Browsers ignore the slash and would take the rest of the page for the script's text.
    if (is_self_closing) {
        return "<" + tag_name_ + "/> is no empty element in HTML; write <" + tag_name_ + "></" +
               tag_name_ + ">";
    }
    const bool is_data = element_ == Element::script && script_type_of(type_) == ScriptType::data;
    // No tags in there: only the end tag of the same name ends it.
    const Element element = element_;
    const std::string name = tag_name_;
    restart();
    state_ = State::raw;
    element_ = element;
    tag_name_ = name;
    script_is_data_ = is_data;
    return {};
}

void HtmlContext::restart() {
    HtmlContext fresh;
    fresh.svg_depth_ = svg_depth_;
    fresh.math_depth_ = math_depth_;
    *this = std::move(fresh);
}

// Where the browser ends the element earlier (a <p> ends an <svg>), we refuse more than we must.
void HtmlContext::count_foreign(std::uint16_t& depth, bool is_self_closing) {
    if (is_end_tag_) {
        if (depth > 0) --depth;
    } else if (!is_self_closing && depth < UINT16_MAX) {
        ++depth;
    }
}

std::string HtmlContext::step_raw(char c) {
    const std::string end = "</" + tag_name_;
    // In SVG and MathML browsers read the content of every element as HTML, so the element's end
    // tag may be inside a comment or an attribute (13.2.6.5).
    if (is_foreign() && !pending_.empty() && pending_ != end) {
        const bool is_name = pending_.size() > 2 || is_letter(c) || c == '!' || c == '?';
        if (is_name && !end.starts_with(pending_ + to_lower(c))) {
            return "a tag or comment in a <" + tag_name_ +
                   "> inside <svg> or <math> is read as such there; write &lt; for a '<'";
        }
    }
    // "</script" ends the element only before a space, '/' or '>'; "</scripts" is text (13.2.5.17).
    if (pending_ == end) {
        if (is_html_space(c) || c == '/' || c == '>') {
            const std::string name = tag_name_;
            // The name is read already; only its end tag's attributes and its '>' are left.
            begin_tag('x', true);
            tag_name_ = name;
            return step_tag(c);
        }
        pending_.clear();
    }
    if (!pending_.empty() || c == '<') {
        const std::string next = pending_ + to_lower(c);
        const std::string_view comment = "<!--";
        // Behind it browsers look for a second "<script", and then the first end tag does not end
        // the element (13.2.5.27).
        if (element_ == Element::script && next == comment) {
            return "'<!--' in a <script> changes where it ends; write '<\\!--' in a string";
        }
        const bool goes_on =
            end.starts_with(next) || (element_ == Element::script && comment.starts_with(next));
        pending_ = goes_on ? next : c == '<' ? "<" : "";
    }
    if (element_ == Element::script) script_.step(c);
    return {};
}

std::expected<Escape, std::string> HtmlContext::value() {
    switch (state_) {
        case State::text:
            return Escape::html;
        case State::comment:
            return std::unexpected(
                "a value in an HTML comment has no safe escaping; remove it, or use {# … #} for "
                "comments of the template");
        case State::declaration:
        case State::markup:
            return std::unexpected(
                "a value inside <! … > has no safe escaping; write it literally");
        case State::double_quoted:
        case State::single_quoted:
            return value_in_attribute();
        case State::raw:
            return value_in_raw();
        default:
            return std::unexpected(refusal_in_tag());
    }
}

std::string HtmlContext::refusal_in_tag() const {
    if (state_ == State::tag_open || state_ == State::end_tag_open) {
        return "a value behind '<' could become a tag; write &lt; for a '<' that is text, and "
               "choose among tags by {% if %}";
    }
    if (state_ == State::tag_name) {
        return "a value in the name of a tag has no safe escaping; choose among tags by {% if %}";
    }
    if (state_ == State::before_value || state_ == State::unquoted) {
        return "a value that is not in quotes has no safe escaping; write " + attribute_name_ +
               "=\"{{ … }}\"";
    }
    return "a value in the name of an attribute has no safe escaping; choose among attributes by "
           "{% if %}";
}

std::expected<Escape, std::string> HtmlContext::value_in_attribute() {
    switch (attribute_) {
        case Attribute::plain:
            return Escape::html;
        case Attribute::content:
            has_content_ = true;
            return Escape::html;
        case Attribute::url:
        case Attribute::code_url: {
            const auto how = url_.value();
            if (how) return *how;
            return std::unexpected(std::string(how.error()));
        }
        case Attribute::style:
            return std::unexpected(
                "a value in CSS has no safe escaping; choose a class, as in "
                "class=\"level-{{ level }}\"");
        case Attribute::event:
            break;
        default:
            return std::unexpected("a value in " + attribute_name_ + " of <" + tag_name_ +
                                   "> has no safe escaping; write it literally");
    }
    if (has_entity_) {
        return std::unexpected(
            "a value behind an &entity; in an event handler has no safe escaping; write the "
            "character itself, or put the value into a data- attribute");
    }
    if (!script_.refusal().empty()) return std::unexpected(std::string(script_.refusal()));
    if (!script_.is_string()) {
        return std::unexpected(
            "a value in an event handler must stand inside a JavaScript string; write "
            "f('{{ value }}'), or put it into a data- attribute");
    }
    return Escape::js_string;
}

std::expected<Escape, std::string> HtmlContext::value_in_raw() {
    // "<" or "</scr" before the value: the value could complete the end tag.
    if (!pending_.empty()) {
        return std::unexpected("a value behind '" + pending_ + "' could end <" + tag_name_ +
                               ">; put something between them");
    }
    // In <title> and <textarea> entities count, tags do not (13.2.5.2).
    if (element_ == Element::escapable) return Escape::html;
    if (element_ == Element::style) {
        return std::unexpected(
            "a value in CSS has no safe escaping; choose a class, as in "
            "class=\"level-{{ level }}\"");
    }
    if (element_ != Element::script || script_is_data_) {
        return std::unexpected("a value in this <" + tag_name_ +
                               "> has no safe escaping, because it holds neither text nor "
                               "JavaScript");
    }
    if (is_foreign()) {
        return std::unexpected(
            "a value in a <script> inside <svg> or <math> has no safe escaping, because entities "
            "count there; put the <script> behind it");
    }
    if (!script_.refusal().empty()) return std::unexpected(std::string(script_.refusal()));
    const Escape how = script_.is_string() ? Escape::js_string : Escape::js_value;
    script_.value();
    return how;
}

std::string HtmlContext::describe() const {
    switch (state_) {
        case State::text:
            return "in the text";
        case State::comment:
            return "in a comment";
        case State::declaration:
        case State::markup:
            return "inside <! … >";
        case State::double_quoted:
        case State::single_quoted:
        case State::unquoted:
            return "in the value of " + attribute_name_;
        case State::before_value:
            return "before the value of " + attribute_name_;
        case State::raw:
            return "in <" + tag_name_ + ">" +
                   (in_script() && script_.is_string() ? ", in a string" : "");
        case State::tag_open:
        case State::end_tag_open:
            return "behind '<'";
        default:
            return "inside the tag <" + std::string(is_end_tag_ ? "/" : "") + tag_name_ + ">";
    }
}

// Branches that end inside one tag, between attributes: `<a{% if x %} hidden{% endif %}>`.
bool HtmlContext::join_tags(const HtmlContext& other) {
    const auto is_between = [](State state) {
        return state == State::tag || state == State::tag_unclear || state == State::tag_name ||
               state == State::attribute_name || state == State::after_name;
    };
    if (!is_between(state_) || !is_between(other.state_)) return false;
    element_ = element_of(tag_name_);  // the name ends here: a space, / or > follows
    if (state_ != State::tag || other.state_ != State::tag) state_ = State::tag_unclear;
    attribute_name_.clear();
    return true;
}

// Where two branches meet, a value behind them must be safe whichever was taken. So both have to
// end at the same place, and of two facts about it the one that allows less stays.
bool HtmlContext::join(const HtmlContext& other) {
    if (*this == other) return true;
    if (svg_depth_ != other.svg_depth_ || math_depth_ != other.math_depth_) return false;
    if (is_end_tag_ != other.is_end_tag_ || tag_name_ != other.tag_name_ ||
        pending_ != other.pending_ || script_is_data_ != other.script_is_data_) {
        return false;
    }
    const bool is_same_place = state_ == other.state_ && attribute_name_ == other.attribute_name_ &&
                               (in_value() || state_ == State::raw);
    if (!is_same_place && !join_tags(other)) return false;
    if (is_same_place && (!url_.join(other.url_) || !script_.join(other.script_))) return false;
    // Data wins, because no value may stand in it; below, the stricter of both decides as well.
    if (type_ != other.type_ && script_type_of(other.type_) == ScriptType::data) {
        type_ = other.type_;
    }
    has_entity_ = has_entity_ || other.has_entity_;
    has_http_equiv_ = has_http_equiv_ || other.has_http_equiv_;
    has_content_ = has_content_ || other.has_content_;
    after_slash_ = after_slash_ || other.after_slash_;
    return true;
}

}  // namespace tiderace::text
