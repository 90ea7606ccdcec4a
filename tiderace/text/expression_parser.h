// Reads an expression of a template:
//
//   either   = both { "or" both }            operand = primary { "|" filter }
//   both     = negate { "and" negate }       primary = path | "text" | 12 | -1.5 | true | false
//   negate   = "not" negate | compare                | nothing | "(" either ")"
//   compare  = operand [ == != < <= > >= operand ]
//   filter   = name [ ":" primary { "," primary } ]
//   path     = name { "." name }
//
// Thread   One at a time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "tiderace/text/cursor.h"
#include "tiderace/text/syntax.h"

namespace tiderace::text {

class ExpressionParser {
  public:
    ExpressionParser(Cursor& cursor, std::vector<Expression>& out, std::span<const Filter> filters,
                     std::size_t nesting_max)
        : cursor_(cursor), out_(out), filters_(filters), nesting_max_(nesting_max) {}

    // Indices of `out`; no_expression after a fault, which the cursor has.
    std::uint32_t condition();
    std::uint32_t value();  // an operand with its filters
    std::uint32_t path();

  private:
    std::uint32_t either();
    std::uint32_t both();
    // `operand`s with `word` between them.
    std::uint32_t chain(std::string_view word, Expression::Kind kind,
                        std::uint32_t (ExpressionParser::*operand)());
    std::uint32_t negate();
    std::uint32_t compare();
    std::uint32_t operand();
    std::uint32_t primary();
    std::uint32_t number();
    std::uint32_t text();
    bool filter_call(std::uint32_t& value);
    const Filter* find(std::string_view name) const;
    std::string known_filters() const;
    std::uint32_t add(Expression expression);
    std::uint32_t add_literal(std::uint32_t offset, Value value);
    std::uint32_t no(bool /*false*/) { return no_expression; }

    Cursor& cursor_;
    std::vector<Expression>& out_;
    std::span<const Filter> filters_;
    std::size_t nesting_max_;
    std::size_t nesting_ = 0;
    std::size_t filters_used_ = 0;
};

}  // namespace tiderace::text
