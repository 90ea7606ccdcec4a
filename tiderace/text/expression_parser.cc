#include "tiderace/text/expression_parser.h"

#include <charconv>
#include <string>
#include <system_error>
#include <utility>

namespace tiderace::text {
namespace {

std::string unescaped(std::string_view inside) {
    std::string text;
    for (std::size_t at = 0; at < inside.size(); ++at) {
        if (inside[at] != '\\' || at + 1 == inside.size()) {
            text += inside[at];
            continue;
        }
        ++at;
        text += inside[at] == 'n' ? '\n' : inside[at] == 't' ? '\t' : inside[at];
    }
    return text;
}

// "<=" before "<": the first mark that fits is taken.
constexpr std::pair<std::string_view, Expression::Compare> comparisons[] = {
    {"==", Expression::Compare::equal},      {"!=", Expression::Compare::differs},
    {"<=", Expression::Compare::less_equal}, {">=", Expression::Compare::greater_equal},
    {"<", Expression::Compare::less},        {">", Expression::Compare::greater},
};

// With the colon: other template languages have parentheses there.
std::string expected_arguments(std::size_t count) {
    if (count == 0) return "no argument";
    return std::to_string(count) + (count == 1 ? " argument" : " arguments") + " behind a colon";
}

}  // namespace

std::uint32_t ExpressionParser::add(Expression expression) {
    out_.push_back(std::move(expression));
    return static_cast<std::uint32_t>(out_.size() - 1);
}

std::uint32_t ExpressionParser::add_literal(std::uint32_t offset, Value value) {
    return add({.kind = Expression::Kind::literal, .offset = offset, .literal = std::move(value)});
}

std::uint32_t ExpressionParser::condition() {
    filters_used_ = 0;
    return either();
}

std::uint32_t ExpressionParser::value() {
    filters_used_ = 0;
    return operand();
}

std::uint32_t ExpressionParser::either() {
    return chain("or", Expression::Kind::either, &ExpressionParser::both);
}

std::uint32_t ExpressionParser::both() {
    return chain("and", Expression::Kind::both, &ExpressionParser::negate);
}

// One expression however long the chain is: compiler, checker and renderer recurse once for each
// level, and nesting_max bounds only the levels that parentheses make.
std::uint32_t ExpressionParser::chain(std::string_view word, Expression::Kind kind,
                                      std::uint32_t (ExpressionParser::*operand)()) {
    Expression all = {.kind = kind};
    while (true) {
        const std::uint32_t next = (this->*operand)();
        if (next == no_expression) return no_expression;
        all.operands.push_back(next);
        if (cursor_.peek_word() != word) break;
        all.offset = cursor_.offset();
        cursor_.word();
    }
    return all.operands.size() == 1 ? all.operands[0] : add(std::move(all));
}

std::uint32_t ExpressionParser::negate() {
    bool is_negative = false;
    std::uint32_t offset = 0;
    while (cursor_.peek_word() == "not") {
        offset = cursor_.offset();
        cursor_.word();
        is_negative = !is_negative;
        if (!is_negative) return no(cursor_.fail(offset, "\"not\" twice; write neither"));
    }
    const std::uint32_t inner = compare();
    if (!is_negative || inner == no_expression) return inner;
    return add({.kind = Expression::Kind::negate, .offset = offset, .operands = {inner}});
}

std::uint32_t ExpressionParser::compare() {
    const std::uint32_t left = operand();
    if (left == no_expression) return no_expression;
    cursor_.skip_blanks();
    const std::uint32_t offset = cursor_.offset();
    for (const auto& [mark, how] : comparisons) {
        if (!cursor_.accept(mark)) continue;
        const std::uint32_t right = operand();
        if (right == no_expression) return no_expression;
        return add({.kind = Expression::Kind::compare,
                    .compare = how,
                    .offset = offset,
                    .operands = {left, right}});
    }
    // A single '=' is a common slip, and "expected }}" would not explain it.
    if (cursor_.peek() == '=') return no(cursor_.fail_expected("\"==\""));
    return left;
}

std::uint32_t ExpressionParser::operand() {
    std::uint32_t value = primary();
    while (value != no_expression && cursor_.accept("|")) {
        if (!filter_call(value)) return no_expression;
    }
    return value;
}

std::uint32_t ExpressionParser::primary() {
    cursor_.skip_blanks();
    const std::uint32_t offset = cursor_.offset();
    const char next = cursor_.peek();
    if (next == '"' || next == '\'') return text();
    if (is_digit(next) || next == '-') return number();
    if (next == '(') {
        cursor_.accept("(");
        // Checking and rendering recurse as deep as parentheses nest.
        if (++nesting_ > nesting_max_) {
            return no(cursor_.fail(offset, "parentheses deeper than nesting_max (" +
                                               std::to_string(nesting_max_) + ")"));
        }
        const std::uint32_t inner = either();
        --nesting_;
        if (inner == no_expression) return no_expression;
        return cursor_.accept(")") ? inner : no(cursor_.fail_expected("\")\""));
    }
    const std::string_view word = cursor_.peek_word();
    if (word == "true" || word == "false" || word == "nothing") {
        cursor_.word();
        return add_literal(offset, word == "nothing" ? Value() : Value(word == "true"));
    }
    // No names: in `a and or b`, `or` would otherwise be a variable.
    if (word.empty() || word == "and" || word == "or" || word == "not") {
        return no(cursor_.fail_expected("a name, a number, a text or \"(\""));
    }
    return path();
}

std::uint32_t ExpressionParser::path() {
    cursor_.skip_blanks();
    Expression expression = {.kind = Expression::Kind::path, .offset = cursor_.offset()};
    do {
        const std::string_view word = cursor_.peek_word();
        if (word.empty()) return no(cursor_.fail_expected("a name"));
        expression.names.push_back({word, cursor_.offset()});
        cursor_.word();
    } while (cursor_.peek() == '.' && cursor_.accept("."));
    return add(std::move(expression));
}

std::uint32_t ExpressionParser::number() {
    const std::uint32_t offset = cursor_.offset();
    const std::string_view rest = cursor_.rest();
    std::size_t end = rest[0] == '-' ? 1 : 0;
    if (end == rest.size() || !is_digit(rest[end])) return no(cursor_.fail_expected("a number"));
    while (end < rest.size() && is_digit(rest[end])) ++end;
    const bool has_point = end + 1 < rest.size() && rest[end] == '.' && is_digit(rest[end + 1]);
    if (has_point) {
        ++end;
        while (end < rest.size() && is_digit(rest[end])) ++end;
    }
    cursor_.move_to(cursor_.at() + end);
    const char* const last = rest.data() + end;
    std::int64_t integer = 0;
    double floating = 0;
    const auto done = has_point ? std::from_chars(rest.data(), last, floating).ec
                                : std::from_chars(rest.data(), last, integer).ec;
    if (done != std::errc()) return no(cursor_.fail(offset, "a number that is too large"));
    return add_literal(offset, has_point ? Value(floating) : Value(integer));
}

std::uint32_t ExpressionParser::text() {
    const std::uint32_t offset = cursor_.offset();
    const auto inside = cursor_.quoted();
    if (!inside) return no(cursor_.fail(offset, "a text that does not end; its quote is missing"));
    return add_literal(offset, Value(unescaped(*inside)));
}

const Filter* ExpressionParser::find(std::string_view name) const {
    // A user's filter hides one of the same name that the library has.
    const Filter* own = find_filter(filters_, name);
    return own ? own : find_filter(filters_in_the_box(), name);
}

std::string ExpressionParser::known_filters() const {
    std::string names;
    for (const auto& filters : {filters_in_the_box(), filters_}) {
        for (const Filter& filter : filters) names += (names.empty() ? "" : ", ") + filter.name;
    }
    return names;
}

bool ExpressionParser::filter_call(std::uint32_t& value) {
    const std::string_view name = cursor_.peek_word();
    const std::uint32_t offset = cursor_.offset();
    if (name.empty()) return cursor_.fail_expected("the name of a filter");
    const Filter* const filter = find(name);
    if (filter == nullptr) {
        return cursor_.fail(
            offset, "no filter \"" + std::string(name) + "\"; there are " + known_filters());
    }
    cursor_.word();
    Expression expression = {
        .kind = Expression::Kind::filter, .offset = offset, .filter = filter, .operands = {value}};
    if (cursor_.accept(":")) {
        do {
            // Without filters of its own: in `a | f: b | g` the g is applied to the result of f.
            const std::uint32_t argument = primary();
            if (argument == no_expression) return false;
            expression.operands.push_back(argument);
        } while (cursor_.accept(","));
    }
    const std::size_t count = expression.operands.size() - 1;
    if (count != filter->arguments) {
        return cursor_.fail(offset, filter->name + ": expects " +
                                        expected_arguments(filter->arguments) + ", found " +
                                        std::to_string(count));
    }
    // The renderer has one scratch text for each filter of a statement, filters_max in all.
    if (++filters_used_ > filters_max) {
        return cursor_.fail(offset, "more filters than filters_max (" +
                                        std::to_string(filters_max) + ") in one statement");
    }
    value = add(std::move(expression));
    return true;
}

}  // namespace tiderace::text
