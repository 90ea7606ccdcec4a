#include "tiderace/text/specialise.h"

#include <algorithm>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "tiderace/text/renderer.h"

namespace tiderace::text {
namespace {

using Place = std::vector<Way::Hop>;

bool begins_with(const Way& way, std::span<const Way::Hop> place) {
    return way.from != nullptr && way.slot == root_slot && way.hops.size() >= place.size() &&
           std::ranges::equal(std::span(way.hops).first(place.size()), place);
}

// The pointer to a constant through which most ways lead; empty: none does.
Place most_used_place(const Ways& ways, std::span<const Constant> constants) {
    std::span<const Way::Hop> most;
    std::ptrdiff_t most_uses = 0;
    for (const Way& way : ways) {
        for (std::size_t length = 1; length <= way.hops.size(); ++length) {
            const auto leads_there = [to = way.hops[length - 1].to](const Constant& constant) {
                return constant.ref().type == to;
            };
            if (std::ranges::none_of(constants, leads_there)) continue;
            const auto place = std::span(way.hops).first(length);
            const auto uses = std::ranges::count_if(
                ways, [&](const Way& other) { return begins_with(other, place); });
            if (uses <= most_uses) continue;
            most = place;
            most_uses = uses;
        }
    }
    return {most.begin(), most.end()};
}

class Specialiser {
  public:
    Specialiser(const Program& program, const Ways& ways, const Place& place)
        : program_(program), ways_(ways), place_(place), is_target_(targets()) {}

    // nullopt: the text would be longer than a page may be.
    std::optional<Code> for_constant(Ref constant);

  private:
    std::vector<bool> targets() const;
    Ways ways_from(Ref constant) const;
    bool is_constant(std::uint32_t operation) const;
    std::optional<std::string> constant_text(const Instruction& instruction, Ref constant,
                                             const Ways& ways) const;
    void append(std::string_view text);

    const Program& program_;
    const Ways& ways_;
    const Place& place_;
    const std::vector<bool> is_target_;  // of a jump, for each instruction and their end
    Code made_;
    bool may_merge_ = false;  // text may be added to the last instruction
};

std::vector<bool> Specialiser::targets() const {
    std::vector<bool> found(program_.code.instructions.size() + 1);
    for (const Instruction& instruction : program_.code.instructions) {
        if (instruction.code == Instruction::Code::text) continue;
        found[instruction.to] = true;
        found[instruction.otherwise] = true;
    }
    return found;
}

// The same ways with the constant as the root.
Ways Specialiser::ways_from(Ref constant) const {
    Ways ways(ways_.size());
    for (std::size_t i = 0; i < ways.size(); ++i) {
        if (!begins_with(ways_[i], place_)) continue;
        ways[i] = ways_[i];
        ways[i].from = constant.type;
        ways[i].hops.erase(ways[i].hops.begin(),
                           ways[i].hops.begin() + static_cast<std::ptrdiff_t>(place_.size()));
    }
    return ways;
}

bool Specialiser::is_constant(std::uint32_t index) const {
    const Expression& expression = program_.operation(index).expression;
    if (expression.kind == Expression::Kind::path) return begins_with(ways_[index], place_);
    // A user's filter may give another text each time.
    if (expression.filter != nullptr && expression.filter->user != nullptr) return false;
    return std::ranges::all_of(expression.operands,
                               [&](std::uint32_t operand) { return is_constant(operand); });
}

// nullopt: it is not constant, or a fault, which the rendering reports where it stands.
std::optional<std::string> Specialiser::constant_text(const Instruction& instruction, Ref constant,
                                                      const Ways& ways) const {
    if (instruction.code != Instruction::Code::value || !is_constant(instruction.operation)) {
        return std::nullopt;
    }
    std::string text;
    const Code alone = {.text = {}, .instructions = {instruction}};
    if (!render(text, program_, alone, constant, ways)) return std::nullopt;
    return text;
}

void Specialiser::append(std::string_view text) {
    if (text.empty()) return;
    const auto from = static_cast<std::uint32_t>(made_.text.size());
    made_.text += text;
    const auto to = static_cast<std::uint32_t>(made_.text.size());
    if (may_merge_) {
        made_.instructions.back().to = to;
    } else {
        made_.instructions.push_back({.code = Instruction::Code::text, .from = from, .to = to});
    }
    may_merge_ = true;
}

std::optional<Code> Specialiser::for_constant(Ref constant) {
    const Ways ways = ways_from(constant);
    const auto& instructions = program_.code.instructions;
    std::vector<std::uint32_t> moved(instructions.size() + 1);  // where each went
    made_ = {};
    may_merge_ = false;
    for (std::size_t i = 0; i < instructions.size(); ++i) {
        const Instruction& instruction = instructions[i];
        if (is_target_[i]) may_merge_ = false;
        moved[i] = static_cast<std::uint32_t>(made_.instructions.size());
        if (instruction.code == Instruction::Code::text) {
            const std::string_view text = program_.code.text;
            append(text.substr(instruction.from, instruction.to - instruction.from));
        } else if (const auto text = constant_text(instruction, constant, ways)) {
            append(*text);
        } else {
            made_.instructions.push_back(instruction);
            may_merge_ = false;
        }
        // The compiler's bound for a template's own text.
        if (made_.text.size() > program_.limits.output_bytes_max) return std::nullopt;
    }
    moved.back() = static_cast<std::uint32_t>(made_.instructions.size());
    for (Instruction& instruction : made_.instructions) {
        if (instruction.code == Instruction::Code::text) continue;
        instruction.to = moved[instruction.to];
        instruction.otherwise = moved[instruction.otherwise];
    }
    return std::move(made_);
}

}  // namespace

const Code* Variants::of(Ref root) const {
    if (all_.empty()) return nullptr;
    const void* at = root.at;
    for (const Way::Hop& hop : place_) {
        at = hop.get(static_cast<const std::byte*>(at) + hop.offset);
        if (at == nullptr) return nullptr;
    }
    const auto found = std::ranges::find(all_, at, &Variant::constant);
    return found == all_.end() ? nullptr : &found->code;
}

Variants specialise(const Program& program, const Ways& ways, std::span<const Constant> constants) {
    Variants made;
    made.place_ = most_used_place(ways, constants);
    if (made.place_.empty()) return made;
    Specialiser specialiser(program, ways, made.place_);
    for (const Constant& constant : constants) {
        const Ref ref = constant.ref();
        if (ref.type != made.place_.back().to) continue;
        auto code = specialiser.for_constant(ref);
        if (code) made.all_.push_back({.constant = ref.at, .code = std::move(*code)});
    }
    return made;
}

}  // namespace tiderace::text
