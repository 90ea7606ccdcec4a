#include "tiderace/text/checker.h"

#include <array>
#include <cstddef>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "tiderace/text/renderer.h"
#include "tiderace/text/type_of.h"

namespace tiderace::text {
namespace {

// The type of a value as far as it is known; null: only the rendering knows.
using Known = const Type*;

// A template treats an empty optional as nothing, so only what is inside has to fit.
Known inside(Known type) {
    while (type && type->kind == Kind::optional) type = type->element;
    return type && type->kind == Kind::dynamic ? nullptr : type;
}

// The same as hops, where each optional is one.
void add_hops_inside(Way& way, Known type) {
    for (; type->kind == Kind::optional; type = type->element) {
        way.hops.push_back({std::exchange(way.offset, 0), type->get});
    }
}

// The same in every object, so room for one shows it. Nothing is read there.
std::size_t offset_of(const Member& member, const Type& object) {
    const std::vector<std::max_align_t> room(object.bytes / sizeof(std::max_align_t) + 1);
    const auto* const begin = reinterpret_cast<const std::byte*>(room.data());
    return static_cast<std::size_t>(static_cast<const std::byte*>(member.address(begin)) - begin);
}

class Checker {
  public:
    Checker(const Program& program, Known root)
        : program_(program),
          root_(root),
          ways_(program.operations.size()),
          found_(program.operations.size()) {}

    std::optional<Fault> check();
    Ways& ways() { return ways_; }
    // Which members the names of an operation are.
    std::vector<FoundMember>& found(std::size_t operation) { return found_[operation]; }

  private:
    bool check_loop(const Instruction& loop);
    bool check_shown(const Instruction& instruction);
    bool evaluate(std::uint32_t index, Known& type);
    bool path(std::uint32_t index, Known& type);
    bool filter(const Operation& operation, Known& type);
    bool compared(const Operation& operation);
    bool fail(const Operation& operation, std::size_t offset, std::string problem) {
        if (!fault_) fault_ = program_.fault_at(operation.source, offset, std::move(problem));
        return false;
    }

    const Program& program_;
    Known root_;
    Ways ways_;
    std::vector<std::vector<FoundMember>> found_;
    std::array<Known, 2 * loop_depth_max> slots_ = {};
    std::optional<Fault> fault_;
};

// In the order in which they stand: the variables of a loop are known in all of its body.
std::optional<Fault> Checker::check() {
    for (const Instruction& instruction : program_.code.instructions) {
        Known type = nullptr;
        bool fits = true;
        if (instruction.code == Instruction::Code::value) fits = check_shown(instruction);
        if (instruction.code == Instruction::Code::loop) fits = check_loop(instruction);
        if (instruction.code == Instruction::Code::unless) {
            fits = evaluate(instruction.operation, type);
        }
        if (!fits) return std::move(fault_);
    }
    return std::nullopt;
}

bool Checker::check_shown(const Instruction& instruction) {
    Known type = nullptr;
    if (!evaluate(instruction.operation, type)) return false;
    type = inside(type);
    // JavaScript has literals for lists and objects, so only text has to refuse them.
    if (type == nullptr || instruction.escape == Escape::js_value) return true;
    if (type->kind != Kind::list && type->kind != Kind::map && type->kind != Kind::object)
        return true;
    const Operation& operation = program_.operation(instruction.operation);
    return fail(operation, operation.expression.offset,
                std::string(kind_text(type->kind)) +
                    " has no text; go through it by {% for %}, or show one of its members");
}

bool Checker::check_loop(const Instruction& loop) {
    Known type = nullptr;
    if (!evaluate(loop.operation, type)) return false;
    type = inside(type);
    slots_[loop.slot] = type ? type->element : nullptr;
    if (loop.has_key) slots_[loop.slot - 1u] = &view_type;
    if (type == nullptr || type->kind == Kind::map) return true;
    if (type->kind == Kind::list && !loop.has_key) return true;
    const Operation& operation = program_.operation(loop.operation);
    return fail(operation, operation.expression.offset,
                std::string(loop.has_key ? "{% for key, value in … %} expects a map, found "
                                         : "{% for %} expects a list or a map, found ") +
                    std::string(kind_text(type->kind)));
}

bool Checker::evaluate(std::uint32_t index, Known& type) {
    const Operation& operation = program_.operations[index];
    const Expression& expression = operation.expression;
    switch (expression.kind) {
        case Expression::Kind::literal:
            type = expression.literal.ref().type;
            return true;
        case Expression::Kind::path:
            return path(index, type);
        case Expression::Kind::filter:
            return filter(operation, type);
        case Expression::Kind::compare:
            type = &type_of<bool>;
            return compared(operation);
        // and, or, not: their operands may be of any type, because every value is true or false.
        default:
            for (const std::uint32_t operand : expression.operands) {
                if (!evaluate(operand, type)) return false;
            }
            type = &type_of<bool>;
            return true;
    }
}

bool Checker::path(std::uint32_t index, Known& type) {
    const Operation& operation = program_.operations[index];
    type = root_;
    if (operation.loop_field != LoopField::none) {
        const bool is_number =
            operation.loop_field == LoopField::index || operation.loop_field == LoopField::length;
        type = is_number ? &integer_type : &type_of<bool>;
        return true;
    }
    const bool is_root = operation.slot == root_slot;
    if (!is_root) type = slots_[static_cast<std::size_t>(operation.slot)];
    const auto& names = operation.expression.names;
    std::vector<FoundMember>& found = found_[index];
    found.resize(names.size());
    Way way = {.from = type, .slot = operation.slot};
    for (std::size_t at = is_root ? 0 : 1; at < names.size(); ++at) {
        const Known from = inside(type);
        if (from == nullptr) {
            type = nullptr;
            return true;
        }
        if (from->kind != Kind::object) way.from = nullptr;
        add_hops_inside(way, type);
        type = nullptr;
        const std::string name = "\"" + std::string(names[at].text) + "\"";
        // The keys of a map are known only when it is rendered, so any name passes.
        if (from->kind == Kind::map) type = from->element;
        if (const Member* const member = find_member(*from, names[at].text)) {
            found[at] = {from, member};
            way.offset += offset_of(*member, *from);
            type = member->type;
        }
        if (type != nullptr) continue;
        const bool is_object = from->kind == Kind::object;
        return fail(operation, names[at].offset,
                    is_object ? "no " + name + "; " + members_text(*from)
                              : "no " + name + " in " + std::string(kind_text(from->kind)));
    }
    way.to = type;
    if (way.from != nullptr) ways_[index] = std::move(way);
    return true;
}

bool Checker::filter(const Operation& operation, Known& type) {
    const Expression& expression = operation.expression;
    const Filter& used = *expression.filter;
    Known given = nullptr;
    if (!evaluate(expression.operands[0], given)) return false;
    given = inside(given);
    for (std::size_t i = 1; i < expression.operands.size(); ++i) {
        Known argument = nullptr;
        if (!evaluate(expression.operands[i], argument)) return false;
    }
    const std::string_view expected = given ? expected_by(used.takes, given->kind) : "";
    if (!expected.empty()) {
        return fail(operation, expression.offset,
                    used.name + ": expects " + std::string(expected) + ", found " +
                        std::string(kind_text(given->kind)));
    }
    switch (used.gives) {
        case Filter::Gives::text:
            type = &string_type;
            break;
        case Filter::Gives::integer:
            type = &integer_type;
            break;
        case Filter::Gives::element:
            type = given ? given->element : nullptr;
            break;
        case Filter::Gives::html:
            type = given;
            break;
        case Filter::Gives::value:  // `default`: of the value's type, or of the argument's
            type = nullptr;
            break;
    }
    return true;
}

bool Checker::compared(const Operation& operation) {
    const Expression& expression = operation.expression;
    Known left = nullptr;
    Known right = nullptr;
    if (!evaluate(expression.operands[0], left) || !evaluate(expression.operands[1], right)) {
        return false;
    }
    left = inside(left);
    right = inside(right);
    // A dynamic operand is left for the renderer, which reports the same text.
    if (!left || !right || comparable(left->kind, right->kind)) return true;
    return fail(operation, expression.offset,
                std::string(kind_text(left->kind)) + " cannot be compared with " +
                    std::string(kind_text(right->kind)));
}

}  // namespace

std::expected<void, Fault> check(Program& program, const Type& root) {
    Checker checker(program, &root);
    if (auto fault = checker.check()) return std::unexpected(std::move(*fault));
    for (std::size_t i = 0; i < program.operations.size(); ++i) {
        if (!checker.found(i).empty()) program.operations[i].found = std::move(checker.found(i));
    }
    program.ways = std::move(checker.ways());
    return {};
}

Ways find_ways(const Program& program, const Type& root) {
    Checker checker(program, &root);
    // What does not fit is reported when it is rendered, if it ever is.
    checker.check();
    return std::move(checker.ways());
}

}  // namespace tiderace::text
