#include "tiderace/text/syntax.h"

#include <algorithm>
#include <set>
#include <string>
#include <utility>

#include "tiderace/text/cursor.h"
#include "tiderace/text/expression_parser.h"

namespace tiderace::text {
namespace {

constexpr std::string_view outside_block =
    "a template that extends another shows only its blocks; put this into a {% block … %}";

std::string_view without_blanks_behind(std::string_view text) {
    while (!text.empty() && is_space(text.back())) text.remove_suffix(1);
    return text;
}
std::string_view without_blanks_before(std::string_view text) {
    while (!text.empty() && is_space(text.front())) text.remove_prefix(1);
    return text;
}

// The next {{, {% or {#.
std::size_t find_tag(std::string_view text, std::size_t at) {
    while ((at = text.find('{', at)) != text.npos) {
        const char next = at + 1 < text.size() ? text[at + 1] : '\0';
        if (next == '{' || next == '%' || next == '#') return at;
        ++at;
    }
    return at;
}

bool is_shown(const Node& node) {
    return node.kind != Node::Kind::text || !without_blanks_before(node.text).empty();
}

// Recursive descent over the text: nodes() reads up to a stop word (else, endif …), which ends a
// body(); the statement that opened the body decides in end_of() whether that word fits. After a
// fault every function returns false, and the first fault is reported.
class Parser {
  public:
    Parser(std::shared_ptr<const Source> source, std::span<const Filter> filters,
           const Limits& limits)
        : text_(source->text),
          cursor_(*source),
          filters_(filters),
          limits_(limits),
          expressions_(cursor_, tree_.expressions, filters, limits.nesting_max) {
        tree_.source = std::move(source);
    }

    std::expected<Tree, Fault> parse();

  private:
    bool nodes(std::vector<Node>& out);
    bool body(std::vector<Node>& out, std::size_t opened);
    bool piece(std::vector<Node>& out, std::size_t tag);
    bool statement(std::vector<Node>& out, std::size_t tag);
    void add_text(std::vector<Node>& out, std::size_t from, std::size_t to, bool trim_end);
    bool value(std::vector<Node>& out, std::size_t tag);
    bool comment(std::size_t tag);
    bool choice(Node node);
    bool choose(std::vector<Node>& out, Node node);
    bool loop(std::vector<Node>& out, Node node);
    bool named(std::vector<Node>& out, Node node);
    bool block(std::vector<Node>& out, Node node);
    bool extends(std::size_t tag);
    bool raw(std::vector<Node>& out, std::size_t tag);
    bool close(std::string_view mark);
    bool is_stop(std::string_view word);
    bool end_of(std::string_view wanted, const Node& node);
    bool quoted_name(Name& name, std::string_view what);

    std::string_view text_;
    Tree tree_;
    Cursor cursor_;
    std::span<const Filter> filters_;
    const Limits& limits_;
    ExpressionParser expressions_;
    std::set<std::string_view> blocks_;
    std::size_t nesting_ = 0;
    bool trim_next_ = false;       // the tag before ended with -
    std::string_view stop_;        // the word that ended a body: else, endif …
    std::size_t stop_offset_ = 0;  // of its tag
};

std::expected<Tree, Fault> Parser::parse() {
    if (text_.size() > limits_.source_bytes_max) {
        return std::unexpected(fault_at(*tree_.source, 0,
                                        "the template has " + std::to_string(text_.size()) +
                                            " bytes, more than source_bytes_max (" +
                                            std::to_string(limits_.source_bytes_max) + ")"));
    }
    if (nodes(tree_.nodes) && !stop_.empty()) {
        cursor_.fail(stop_offset_, "{% " + std::string(stop_) + " %} without what it belongs to");
    }
    for (const Node& node : tree_.nodes) {
        // extends() refused text before it; behind it, only blanks are allowed.
        if (tree_.extends.text.empty() || node.kind != Node::Kind::text || !is_shown(node))
            continue;
        cursor_.fail(node.offset + (node.text.size() - without_blanks_before(node.text).size()),
                     std::string(outside_block));
    }
    if (cursor_.fault()) return std::unexpected(std::move(*cursor_.fault()));
    return std::move(tree_);
}

void Parser::add_text(std::vector<Node>& out, std::size_t from, std::size_t to, bool trim_end) {
    std::string_view text = text_.substr(from, to - from);
    if (std::exchange(trim_next_, false)) text = without_blanks_before(text);
    if (trim_end) text = without_blanks_behind(text);
    if (text.empty()) return;
    out.push_back({.kind = Node::Kind::text,
                   .offset = static_cast<std::uint32_t>(text.data() - text_.data()),
                   .text = text});
}

// Until the end or a stop word, whose tag is read up to behind the word.
bool Parser::nodes(std::vector<Node>& out) {
    stop_ = {};
    while (true) {
        const std::size_t from = cursor_.at();
        const std::size_t tag = find_tag(text_, from);
        if (tag == text_.npos) {
            add_text(out, from, text_.size(), false);
            cursor_.move_to(text_.size());
            return true;
        }
        const bool trims = tag + 2 < text_.size() && text_[tag + 2] == '-';
        add_text(out, from, tag, trims);
        cursor_.move_to(tag + (trims ? 3 : 2));
        if (!piece(out, tag)) return false;
        if (!stop_.empty()) return true;
    }
}

bool Parser::piece(std::vector<Node>& out, std::size_t tag) {
    if (text_[tag + 1] == '#') return comment(tag);
    if (tree_.extends.text.empty() || nesting_ > 0) {
        return text_[tag + 1] == '{' ? value(out, tag) : statement(out, tag);
    }
    const std::string_view word = text_[tag + 1] == '%' ? cursor_.peek_word() : "";
    // A stop word goes on to the report of what it does not belong to, which says more.
    if (word == "block" || is_stop(word)) return statement(out, tag);
    return cursor_.fail(tag, std::string(outside_block));
}

bool Parser::close(std::string_view mark) {
    cursor_.skip_blanks();
    if (cursor_.peek() == '-' && cursor_.rest().substr(1).starts_with(mark)) {
        cursor_.move_to(cursor_.at() + 1);
        trim_next_ = true;
    }
    if (cursor_.accept(mark)) return true;
    trim_next_ = false;
    return cursor_.fail_expected('"' + std::string(mark) + '"');
}

bool Parser::comment(std::size_t tag) {
    const std::size_t end = text_.find("#}", tag + 2);
    if (end == text_.npos)
        return cursor_.fail(tag, "a comment that does not end; \"#}\" is missing");
    // In {#-#} the one dash belongs to the beginning.
    trim_next_ = text_[end - 1] == '-' && end - 1 > tag + 2;
    cursor_.move_to(end + 2);
    return true;
}

bool Parser::value(std::vector<Node>& out, std::size_t tag) {
    Node node = {.kind = Node::Kind::value, .offset = static_cast<std::uint32_t>(tag)};
    node.expression = expressions_.value();
    if (node.expression == no_expression || !close("}}")) return false;
    out.push_back(std::move(node));
    return true;
}

bool Parser::is_stop(std::string_view word) {
    return word == "elif" || word == "else" || word == "endif" || word == "endfor" ||
           word == "endblock";
}

bool Parser::statement(std::vector<Node>& out, std::size_t tag) {
    const std::string_view word = cursor_.peek_word();
    Node node = {.kind = Node::Kind::choice, .offset = static_cast<std::uint32_t>(tag)};
    if (is_stop(word)) {
        stop_ = word;
        stop_offset_ = tag;
        cursor_.word();
        return true;
    }
    const std::size_t word_at = cursor_.at();
    cursor_.word();
    if (word == "if") return choose(out, std::move(node));
    if (word == "for") return loop(out, std::move(node));
    if (word == "include") return named(out, std::move(node));
    if (word == "block") return block(out, std::move(node));
    if (word == "extends") return extends(tag);
    if (word == "raw") return raw(out, tag);
    cursor_.move_to(word_at);
    return cursor_.fail_expected(
        "if, for, include, block, extends, raw, or the end of one of these");
}

bool Parser::body(std::vector<Node>& out, std::size_t opened) {
    // Parser and compiler recurse once for each level.
    if (++nesting_ > limits_.nesting_max) {
        return cursor_.fail(opened, "statements deeper than nesting_max (" +
                                        std::to_string(limits_.nesting_max) + ")");
    }
    const bool done = nodes(out);
    --nesting_;
    return done;
}

// The stop word has to be `wanted`.
bool Parser::end_of(std::string_view wanted, const Node& node) {
    if (stop_.empty()) {
        return cursor_.fail(node.offset,
                            "this does not end; {% " + std::string(wanted) + " %} is missing");
    }
    if (stop_ != wanted) {
        return cursor_.fail(stop_offset_, "expected {% " + std::string(wanted) + " %}, found {% " +
                                              std::string(stop_) + " %}");
    }
    stop_ = {};
    return close("%}");
}

bool Parser::choose(std::vector<Node>& out, Node node) {
    bool has_else = false;
    std::string_view arm = "if";
    std::size_t arm_offset = node.offset;
    while (arm == "if" || arm == "elif" || arm == "else") {
        if (has_else) {
            return cursor_.fail(arm_offset, "{% " + std::string(arm) + " %} behind {% else %}");
        }
        has_else = arm == "else";
        Branch branch = {.offset = static_cast<std::uint32_t>(arm_offset)};
        if (!has_else) {
            branch.condition = expressions_.condition();
            if (branch.condition == no_expression) return false;
        }
        if (!close("%}") || !body(branch.body, node.offset)) return false;
        node.branches.push_back(std::move(branch));
        arm = stop_;
        arm_offset = stop_offset_;
    }
    if (!end_of("endif", node)) return false;
    out.push_back(std::move(node));
    return true;
}

bool Parser::loop(std::vector<Node>& out, Node node) {
    node.kind = Node::Kind::loop;
    const auto variable = [&](Name& name) {
        name.text = cursor_.peek_word();
        name.offset = cursor_.offset();
        if (name.text.empty() || name.text == "in") return cursor_.fail_expected("a name");
        if (name.text == "loop")
            return cursor_.fail(name.offset, "\"loop\" is taken; choose another name");
        cursor_.word();
        return true;
    };
    if (!variable(node.item)) return false;
    if (cursor_.accept(",")) {
        node.key = node.item;
        if (!variable(node.item)) return false;
    }
    if (!cursor_.accept_word("in")) return cursor_.fail_expected("\"in\"");
    node.expression = expressions_.value();
    if (node.expression == no_expression || !close("%}")) return false;
    Branch all = {.offset = node.offset};
    if (!body(all.body, node.offset)) return false;
    node.branches.push_back(std::move(all));
    if (stop_ == "else") {
        Branch otherwise = {.offset = static_cast<std::uint32_t>(stop_offset_)};
        if (!close("%}") || !body(otherwise.body, node.offset)) return false;
        node.branches.push_back(std::move(otherwise));
    }
    if (!end_of("endfor", node)) return false;
    out.push_back(std::move(node));
    return true;
}

bool Parser::quoted_name(Name& name, std::string_view what) {
    cursor_.skip_blanks();
    name.offset = cursor_.offset();
    if (cursor_.peek() != '"' && cursor_.peek() != '\'') return cursor_.fail_expected(what);
    const auto inside = cursor_.quoted();
    if (!inside) return cursor_.fail(name.offset, "a text that does not end; its quote is missing");
    name.text = *inside;
    if (name.text.empty()) return cursor_.fail(name.offset, "the name of a template is empty");
    return true;
}

bool Parser::named(std::vector<Node>& out, Node node) {
    node.kind = Node::Kind::include;
    Name name;
    if (!quoted_name(name, "the name of a template in quotes") || !close("%}")) return false;
    node.text = name.text;
    node.offset = name.offset;
    out.push_back(std::move(node));
    return true;
}

bool Parser::block(std::vector<Node>& out, Node node) {
    node.kind = Node::Kind::block;
    node.text = cursor_.peek_word();
    if (node.text.empty()) return cursor_.fail_expected("the name of a block");
    // A layout's block is replaced by its name, which would be ambiguous.
    if (!blocks_.insert(node.text).second) {
        return cursor_.fail(cursor_.at(), "a second block \"" + std::string(node.text) + "\"");
    }
    cursor_.word();
    Branch all = {.offset = node.offset};
    if (!close("%}") || !body(all.body, node.offset)) return false;
    node.branches.push_back(std::move(all));
    if (stop_ == "endblock") cursor_.accept_word(node.text);  // {% endblock name %}
    if (!end_of("endblock", node)) return false;
    out.push_back(std::move(node));
    return true;
}

bool Parser::extends(std::size_t tag) {
    if (nesting_ > 0 || !tree_.extends.text.empty() || std::ranges::any_of(tree_.nodes, is_shown)) {
        return cursor_.fail(tag, "{% extends %} has to be the first thing in a template");
    }
    return quoted_name(tree_.extends, "the name of a template in quotes") && close("%}");
}

bool Parser::raw(std::vector<Node>& out, std::size_t tag) {
    if (!close("%}")) return false;
    const std::size_t from = cursor_.at();
    // Not by the cursor's rules: whatever is no endraw is text, unfinished tags included.
    for (std::size_t end = from; (end = text_.find("{%", end)) != text_.npos; end += 2) {
        const bool trims = end + 2 < text_.size() && text_[end + 2] == '-';
        cursor_.move_to(end + (trims ? 3 : 2));
        if (!cursor_.accept_word("endraw")) continue;
        add_text(out, from, end, trims);
        return close("%}");
    }
    return cursor_.fail(tag, "this does not end; {% endraw %} is missing");
}

}  // namespace

std::expected<Tree, Fault> parse(std::shared_ptr<const Source> source,
                                 std::span<const Filter> filters, const Limits& limits) {
    return Parser(std::move(source), filters, limits).parse();
}

}  // namespace tiderace::text
