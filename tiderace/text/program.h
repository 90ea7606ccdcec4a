// Internal. Program: a template as it is rendered: one list of instructions, with all includes,
// layouts and blocks in their places, and for each value how it is escaped.
//
//     <p>{% if n %}{{ n }}{% else %}none{% endif %}</p>
//
//     0 text "<p>"   1 unless n -> 4   2 value n, html   3 jump 5   4 text "none"   5 text "</p>"
//
// Owner    A Program holds its sources; it depends on nothing else.
// Thread   Any: it is read only once it was compiled and checked.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "tiderace/text/escape.h"
#include "tiderace/text/fault.h"
#include "tiderace/text/limits.h"
#include "tiderace/text/syntax.h"
#include "tiderace/text/type.h"

namespace tiderace::text {

inline constexpr int root_slot = -1;

enum class LoopField : std::uint8_t { none, index, first, last, length };

// Which member a name is in an object of one type, so that rendering compares no names.
struct FoundMember {
    const Type* object = nullptr;  // null: not known
    const Member* member = nullptr;
};

// The whole way of a path whose types are all known beforehand. Members lie in their object, so any
// number of them are one distance; only an optional or a pointer leads elsewhere.
//
//   frame.words.post.like    [to `words`, get] then as far as `like` lies in *words
struct Way {
    struct Hop {
        std::size_t offset = 0;
        const void* (*get)(const void* optional) = nullptr;  // nullptr: it is empty, and the path
                                                             // is nothing
    };
    const Type* from = nullptr;  // what the path begins at; null: the way is not known
    const Type* to = nullptr;
    int slot = root_slot;  // of the operation, so that the renderer does not read that
    std::vector<Hop> hops = {};
    std::size_t offset = 0;  // behind the last hop
};

// An Expression with its variables found.
struct Operation {
    Expression expression;
    int slot = root_slot;                    // of a path: the loop variable, or the root
    LoopField loop_field = LoopField::none;  // of a path such as loop.index
    std::uint32_t source = 0;
    std::vector<FoundMember> found = {};  // one for each of expression.names; check() fills it
};

struct Instruction {
    enum class Code : std::uint8_t { text, value, unless, jump, loop };

    Code code;
    Escape escape = Escape::none;
    bool has_key = false;         // of a loop: a variable for the key stands before the item's
    std::uint8_t slot = 0;        // of a loop: its item; its key is in the slot before
    std::uint8_t loop = 0;        // of a loop: how many are around it
    std::uint32_t operation = 0;  // what is written, asked, gone through
    std::uint32_t from = 0;       // text: where it is in Code::text
    std::uint32_t to = 0;         // text: its end. unless, jump: where to go on. loop: body's end
    std::uint32_t otherwise = 0;  // of a loop: the end of its else
};

// One for each of Program::operations: for values of one type.
using Ways = std::vector<Way>;

struct Code {
    std::string text;  // of all its text instructions
    std::vector<Instruction> instructions;
};

struct Program {
    std::string name;
    Code code;
    std::vector<Operation> operations;
    std::vector<std::shared_ptr<const Source>> sources;
    std::shared_ptr<const std::vector<Filter>> filters;  // a user's own
    std::vector<std::string> uses;                       // names of the templates in it
    Limits limits;
    Ways ways = {};  // for the type that check() was called for

    Fault fault_at(std::uint32_t source, std::size_t offset, std::string problem) const {
        return text::fault_at(*sources[source], offset, std::move(problem));
    }
    const Operation& operation(std::uint32_t index) const { return operations[index]; }
};

}  // namespace tiderace::text
