// Internal. Tree: one template as it is written, before includes and layouts are put together.
//
// Thread   Any; read only once made. Views in it refer to its source.
// Limits   Limits::source_bytes_max and nesting_max.
#pragma once

#include <cstddef>
#include <cstdint>
#include <expected>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "tiderace/text/fault.h"
#include "tiderace/text/filter.h"
#include "tiderace/text/limits.h"
#include "tiderace/text/value.h"

namespace tiderace::text {

inline constexpr std::uint32_t no_expression = 0xFFFF'FFFF;

struct Name {
    std::string_view text;
    std::uint32_t offset;
};

struct Expression {
    enum class Kind : std::uint8_t { literal, path, filter, compare, both, either, negate };
    enum class Compare : std::uint8_t { equal, differs, less, less_equal, greater, greater_equal };

    Kind kind;
    Compare compare = Compare::equal;
    std::uint32_t offset = 0;
    Value literal = {};
    std::vector<Name> names = {};    // of a path
    const Filter* filter = nullptr;  // the tree's, or one in the box
    // filter: the value and the arguments. both, either: every part that `and` or `or` joins.
    std::vector<std::uint32_t> operands = {};
};

struct Node;
struct Branch {
    std::uint32_t condition = no_expression;  // none: else
    std::uint32_t offset = 0;
    std::vector<Node> body;
};

struct Node {
    enum class Kind : std::uint8_t { text, value, choice, loop, include, block };

    Kind kind;
    std::uint32_t offset = 0;
    std::string_view text = {};  // literal text; the name of an include or a block
    std::uint32_t expression = no_expression;
    Name key = {};   // of a loop over a map; or ""
    Name item = {};  // of a loop
    // choice: if, elif …, else. loop: the body, and else. block: the body.
    std::vector<Branch> branches;
};

struct Tree {
    std::shared_ptr<const Source> source;
    std::vector<Node> nodes;
    std::vector<Expression> expressions;
    Name extends = {};  // "": none
};

// `filters`: a user's own, which live as long as the tree.
std::expected<Tree, Fault> parse(std::shared_ptr<const Source> source,
                                 std::span<const Filter> filters, const Limits& limits);

}  // namespace tiderace::text
