#include "tiderace/text/renderer.h"

#include <array>
#include <cstddef>
#include <cstring>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "tiderace/text/escape.h"
#include "tiderace/text/type_of.h"

namespace tiderace::text {
namespace {

constexpr std::size_t slots_max = 2 * loop_depth_max;
constexpr std::size_t shown_members_max = 12;

// Appends to a text, which stays as it was unless keep() is called. A page is hundreds of short
// pieces, so each is copied into room that was made beforehand.
class Output {
  public:
    Output(std::string& out, std::size_t expected) : out_(out), start_(out.size()) {
        out_.reserve(start_ + expected);
        stand_at(start_);
    }
    ~Output() { out_.resize(kept_ ? start_ + size() : start_); }
    Output(const Output&) = delete;
    Output& operator=(const Output&) = delete;

    void append(std::string_view piece) {
        if (static_cast<std::size_t>(room_end_ - at_) < piece.size()) make_room(piece.size());
        at_ += piece.copy(at_, piece.size());
    }
    // A part of `text`. Most of them are short, and one of those is copied together with what is
    // behind it, by a few instructions and no call.
    void append_part(const std::string& text, std::size_t from, std::size_t to) {
        const std::size_t bytes = to - from;
        if (bytes <= short_bytes && text.size() - from >= short_bytes &&
            static_cast<std::size_t>(room_end_ - at_) >= short_bytes) {
            std::memcpy(at_, text.data() + from, short_bytes);
            at_ += bytes;
        } else {
            append(std::string_view(text.data() + from, bytes));
        }
    }
    // `write` appends to a std::string.
    void append_by(auto write) {
        out_.resize(start_ + size());
        write(out_);
        stand_at(out_.size());
    }
    std::size_t size() const { return static_cast<std::size_t>(at_ - begin_); }
    void keep() { kept_ = true; }

  private:
    static constexpr std::size_t room_bytes = 1'024;
    static constexpr std::size_t short_bytes = 64;

    void make_room(std::size_t bytes) {
        const std::size_t end = start_ + size();
        out_.resize(end + bytes + room_bytes);
        stand_at(end);
    }
    void stand_at(std::size_t end) {
        begin_ = out_.data() + start_;
        at_ = out_.data() + end;
        room_end_ = out_.data() + out_.size();
    }

    std::string& out_;
    const std::size_t start_;
    char* begin_ = nullptr;
    char* at_ = nullptr;  // the end of what was appended
    char* room_end_ = nullptr;
    bool kept_ = false;
};

class Renderer {
  public:
    Renderer(Output& out, const Program& program, Ref root, const Ways& ways)
        : out_(out), program_(program), code_(program.code), ways_(ways), root_(root) {}

    bool run(std::uint32_t from, std::uint32_t to);
    // For the text behind the last value, whose place a fault names.
    bool check_end() { return last_checked_ == nullptr || check_output(*last_checked_); }
    std::optional<Fault>& fault() { return fault_; }

  private:
    struct Loop {
        std::int64_t index = 0;  // from 1
        std::int64_t length = 0;
        bool first = false;
        bool last = false;
    };
    struct Body {
        Renderer& renderer;
        const Instruction& loop;
        std::uint32_t begin;
        const Type* element;
        bool is_good = true;
    };

    bool write_value(const Instruction& instruction);
    bool write_other(const Operation& operation, Escape how, Ref value);
    bool write_script_value(const Operation& operation, Ref value);
    void write_text(Escape how, std::string_view text) {
        if (!stays_as_it_is(how, text)) return write_escaped(how, text);
        out_.append(text);
    }
    void write_escaped(Escape how, std::string_view text);
    bool run_loop(const Instruction& loop, std::uint32_t at);
    bool run_body(Body& body, std::string_view key, const void* element);
    // Without a type: a fault was noted. `missing_is_nothing`: an unknown name gives nothing.
    Ref evaluate(std::uint32_t index, bool missing_is_nothing = false);
    // By the way that the check found. Without a type: there is none for this value.
    Ref by_way(std::uint32_t index) const;
    Ref path(std::uint32_t index, bool missing_is_nothing);
    Ref loop_field(const Operation& operation) const;
    Ref step(const Operation& operation, Ref from, std::size_t name, bool missing_is_nothing);
    Ref filter(const Operation& operation);
    Ref compared(const Operation& operation);
    Ref both_or_either(const Operation& operation);
    Ref fail(const Operation& operation, std::size_t offset, std::string problem) {
        if (!fault_) fault_ = program_.fault_at(operation.source, offset, std::move(problem));
        return {};
    }
    bool check_output(const Operation& operation) {
        last_checked_ = &operation;
        return out_.size() <= program_.limits.output_bytes_max || fail_output(operation);
    }
    bool fail_output(const Operation& operation);

    Output& out_;
    const Program& program_;
    const Code& code_;
    const Ways& ways_;
    const Ref root_;
    std::array<Ref, slots_max> slots_ = {};
    std::array<std::string_view, loop_depth_max> keys_ = {};
    std::array<Loop, loop_depth_max> loops_ = {};
    std::optional<std::array<Scratch, filters_max>> scratch_;  // made when a filter needs one
    std::size_t scratch_used_ = 0;
    std::size_t iterations_ = 0;
    const Operation* last_checked_ = nullptr;
    std::optional<Fault> fault_;
};

constexpr bool truths[] = {false, true};
Ref truth(bool value) {
    return ref_to(truths[value ? 1 : 0]);
}

// The author's text is appended without a check: the compiler has counted it once. Each value and
// each turn of a loop check all that is there, and check_end() the text behind them.
bool Renderer::run(std::uint32_t at, std::uint32_t to) {
    while (at < to) {
        const Instruction& instruction = code_.instructions[at];
        ++at;
        switch (instruction.code) {
            case Instruction::Code::text:
                out_.append_part(code_.text, instruction.from, instruction.to);
                break;
            case Instruction::Code::value:
                if (!write_value(instruction)) return false;
                break;
            case Instruction::Code::jump:
                at = instruction.to;
                break;
            case Instruction::Code::unless: {
                Ref condition = by_way(instruction.operation);
                if (condition.type == nullptr) {
                    scratch_used_ = 0;  // the texts of filters live as long as their expression
                    condition = evaluate(instruction.operation);
                }
                if (condition.type == nullptr) return false;
                if (!is_true(condition)) at = instruction.to;
                break;
            }
            case Instruction::Code::loop:
                if (!run_loop(instruction, at)) return false;
                at = instruction.otherwise;
                break;
        }
    }
    return true;
}

bool Renderer::fail_output(const Operation& operation) {
    fail(operation, operation.expression.offset,
         "the output is longer than output_bytes_max (" +
             std::to_string(program_.limits.output_bytes_max) + ")");
    return false;
}

bool Renderer::write_value(const Instruction& instruction) {
    const Operation& operation = program_.operation(instruction.operation);
    Ref value = by_way(instruction.operation);
    if (value.type == nullptr) {
        scratch_used_ = 0;
        value = evaluate(instruction.operation);
        if (value.type == nullptr) return false;
    }
    if (instruction.escape == Escape::js_value) return write_script_value(operation, value);
    // Nearly all values are texts.
    if (value.type->kind != Kind::text || value.at == nullptr) {
        return write_other(operation, instruction.escape, value);
    }
    write_text(instruction.escape, value.type->text(value.at));
    return check_output(operation);
}

bool Renderer::write_script_value(const Operation& operation, Ref value) {
    // Bounded while it is written, because a value of JavaScript may be a whole tree.
    const std::size_t used = out_.size();
    const std::size_t most = program_.limits.output_bytes_max;
    bool fits = false;
    out_.append_by([&](std::string& out) {
        fits = append_js_value(out, value, most > used ? most - used : 0);
    });
    if (fits) return check_output(operation);
    fail(operation, operation.expression.offset,
         "the value is nested too deeply for JavaScript, or longer than output_bytes_max");
    return false;
}

void Renderer::write_escaped(Escape how, std::string_view text) {
    out_.append_by([&](std::string& out) { append_escaped(out, how, text); });
}

bool Renderer::write_other(const Operation& operation, Escape how, Ref value) {
    std::array<char, number_bytes_max> room;
    const auto text = text_of(value, room);
    if (!text) {
        const std::string kind(kind_text(plain(value).type->kind));
        fail(operation, operation.expression.offset,
             kind + " has no text; go through it by {% for %}, or show one of its members");
        return false;
    }
    // Nothing escapes digits and a minus.
    if (value.type->kind == Kind::integer) {
        out_.append(*text);
    } else {
        write_text(how, *text);
    }
    return check_output(operation);
}

bool Renderer::run_loop(const Instruction& loop, std::uint32_t at) {
    const Operation& operation = program_.operation(loop.operation);
    scratch_used_ = 0;
    const Ref given = evaluate(loop.operation);
    if (given.type == nullptr) return false;
    const Ref container = plain(given);
    const Kind kind = container.type->kind;
    // An empty optional is an empty list: {% else %}, between `to` and `otherwise`, is rendered.
    if (kind == Kind::nothing) return run(loop.to, loop.otherwise);
    if (kind != Kind::map && (kind != Kind::list || loop.has_key)) {
        fail(operation, operation.expression.offset,
             std::string(loop.has_key ? "{% for key, value in … %} expects a map, found "
                                      : "{% for %} expects a list or a map, found ") +
                 std::string(kind_text(kind)));
        return false;
    }
    const std::size_t length = container.type->size(container.at);
    if (length == 0) return run(loop.to, loop.otherwise);
    loops_[loop.loop] = {.length = static_cast<std::int64_t>(length)};
    Body body = {*this, loop, at, container.type->element};
    container.type->each(container.at, &body,
                         [](void* context, std::string_view key, const void* element) {
                             auto& to = *static_cast<Body*>(context);
                             return to.is_good = to.renderer.run_body(to, key, element);
                         });
    return body.is_good;
}

bool Renderer::run_body(Body& body, std::string_view key, const void* element) {
    const Instruction& instruction = body.loop;
    const Operation& operation = program_.operation(instruction.operation);
    if (++iterations_ > program_.limits.iterations_max) {
        fail(operation, operation.expression.offset,
             "the loops go round more often than iterations_max (" +
                 std::to_string(program_.limits.iterations_max) + ")");
        return false;
    }
    Loop& loop = loops_[instruction.loop];
    loop.first = ++loop.index == 1;
    loop.last = loop.index == loop.length;
    slots_[instruction.slot] = {body.element, element};
    if (instruction.has_key) {
        keys_[instruction.loop] = key;
        slots_[instruction.slot - 1] = {&view_type, &keys_[instruction.loop]};
    }
    // Literal texts alone could grow the output without a check at any value.
    return run(body.begin, instruction.to) && check_output(operation);
}

Ref Renderer::evaluate(std::uint32_t index, bool missing_is_nothing) {
    const Operation& operation = program_.operation(index);
    const Expression& expression = operation.expression;
    switch (expression.kind) {
        case Expression::Kind::literal:
            return expression.literal.ref();
        case Expression::Kind::path:
            return path(index, missing_is_nothing);
        case Expression::Kind::filter:
            return filter(operation);
        case Expression::Kind::compare:
            return compared(operation);
        case Expression::Kind::both:
        case Expression::Kind::either:
            return both_or_either(operation);
        case Expression::Kind::negate: {
            const Ref value = evaluate(expression.operands[0]);
            return value.type ? truth(!is_true(value)) : value;
        }
    }
    std::unreachable();
}

Ref Renderer::by_way(std::uint32_t index) const {
    if (index >= ways_.size()) return {};
    const Way& way = ways_[index];
    const Ref value = way.slot == root_slot ? root_ : slots_[static_cast<std::size_t>(way.slot)];
    if (value.at == nullptr || way.from != value.type) return {};
    const auto* at = static_cast<const std::byte*>(value.at);
    for (const Way::Hop& hop : way.hops) {
        at = static_cast<const std::byte*>(hop.get(at + hop.offset));
        if (at == nullptr) return nothing;
    }
    return {way.to, at + way.offset};
}

Ref Renderer::path(std::uint32_t index, bool missing_is_nothing) {
    if (const Ref found = by_way(index); found.type != nullptr) return found;
    const Operation& operation = program_.operation(index);
    if (operation.loop_field != LoopField::none) return loop_field(operation);
    const bool is_root = operation.slot == root_slot;
    Ref value = is_root ? root_ : slots_[static_cast<std::size_t>(operation.slot)];
    const auto& names = operation.expression.names;
    for (std::size_t name = is_root ? 0 : 1; name < names.size(); ++name) {
        value = step(operation, plain(value), name, missing_is_nothing);
        if (value.type == nullptr) return value;
    }
    return value;
}

Ref Renderer::loop_field(const Operation& operation) const {
    const Loop& loop = loops_[static_cast<std::size_t>(operation.slot)];
    if (operation.loop_field == LoopField::index) return {&integer_type, &loop.index};
    if (operation.loop_field == LoopField::length) return {&integer_type, &loop.length};
    return truth(operation.loop_field == LoopField::first ? loop.first : loop.last);
}

Ref Renderer::step(const Operation& operation, Ref from, std::size_t index,
                   bool missing_is_nothing) {
    const Name& name = operation.expression.names[index];
    // A member of nothing is nothing, so that a template need not test each step of a chain.
    if (from.type->kind == Kind::nothing) return nothing;
    if (from.type->kind == Kind::object) {
        // Looked up when the template was checked against this type. Another type (of an element,
        // say) is searched by name.
        const FoundMember& found = operation.found[index];
        const Member* const member =
            found.object == from.type ? found.member : find_member(*from.type, name.text);
        if (member != nullptr) return {member->type, member->address(from.at)};
    }
    if (from.type->kind == Kind::map) {
        const void* const found = from.type->find(from.at, name.text);
        if (found != nullptr) return {from.type->element, found};
    }
    if (missing_is_nothing) return nothing;
    if (from.type->kind == Kind::object || from.type->kind == Kind::map) {
        return fail(operation, name.offset,
                    "no \"" + std::string(name.text) + "\"; " + members_text(*from.type));
    }
    return fail(
        operation, name.offset,
        "no \"" + std::string(name.text) + "\" in " + std::string(kind_text(from.type->kind)));
}

Ref Renderer::filter(const Operation& operation) {
    const Expression& expression = operation.expression;
    const Filter& used = *expression.filter;
    // `default` is also for names that do not exist.
    const bool may_be_missing = used.gives == Filter::Gives::value;
    const Ref value = evaluate(expression.operands[0], may_be_missing);
    if (value.type == nullptr) return value;
    std::array<Ref, filter_arguments_max> arguments;
    for (std::size_t i = 1; i < expression.operands.size(); ++i) {
        arguments[i - 1] = evaluate(expression.operands[i]);
        if (arguments[i - 1].type == nullptr) return {};
    }
    if (!scratch_) scratch_.emplace();
    std::string problem;
    const FilterCall call = {
        .value = value,
        .arguments = std::span(arguments).first(expression.operands.size() - 1),
        .scratch = (*scratch_)[scratch_used_++ % filters_max],
        .problem = problem,
        .bytes_max = program_.limits.output_bytes_max};
    const Ref made = apply_filter(used, call);
    if (made.type == nullptr) return fail(operation, expression.offset, std::move(problem));
    // A filter's text is not output yet: several filters could grow it in steps without a check.
    if (call.scratch.text.size() > program_.limits.output_bytes_max) {
        return fail(operation, expression.offset,
                    used.name + " makes a text that is longer than output_bytes_max");
    }
    return made;
}

Ref Renderer::compared(const Operation& operation) {
    const Expression& expression = operation.expression;
    const Ref left = evaluate(expression.operands[0]);
    if (left.type == nullptr) return left;
    const Ref right = evaluate(expression.operands[1]);
    if (right.type == nullptr) return right;
    const Kind left_kind = plain(left).type->kind;
    const Kind right_kind = plain(right).type->kind;
    if (!comparable(left_kind, right_kind)) {
        return fail(operation, expression.offset,
                    std::string(kind_text(left_kind)) + " cannot be compared with " +
                        std::string(kind_text(right_kind)));
    }
    // NaN, and nothing beside a value, are Order::none: only != is then true.
    const Order order = compare(left, right);
    switch (expression.compare) {
        case Expression::Compare::equal:
            return truth(order == Order::equal);
        case Expression::Compare::differs:
            return truth(order != Order::equal);
        case Expression::Compare::less:
            return truth(order == Order::less);
        case Expression::Compare::less_equal:
            return truth(order == Order::less || order == Order::equal);
        case Expression::Compare::greater:
            return truth(order == Order::greater);
        case Expression::Compare::greater_equal:
            return truth(order == Order::greater || order == Order::equal);
    }
    std::unreachable();
}

Ref Renderer::both_or_either(const Operation& operation) {
    const Expression& expression = operation.expression;
    const bool decides = expression.kind == Expression::Kind::either;
    for (const std::uint32_t operand : expression.operands) {
        const Ref value = evaluate(operand);
        if (value.type == nullptr) return value;
        // The operands behind it are not evaluated, so `a and a.b` works where a is nothing.
        if (is_true(value) == decides) return truth(decides);
    }
    return truth(!decides);
}

}  // namespace

std::string members_text(const Type& type) {
    if (type.kind != Kind::object) return "the map has no such key";
    std::string text = std::string(type.name) + " has ";
    std::size_t shown = 0;
    for (const Member& member : type.members) {
        if (shown == shown_members_max) break;
        if (shown++ > 0) text += ", ";
        text += member.name;
    }
    if (type.members.size() > shown) {
        text += " and " + std::to_string(type.members.size() - shown) + " more";
    }
    return text;
}

std::expected<void, Fault> render(std::string& out, const Program& program, Ref root,
                                  const Ways& ways) {
    // Most of a page is its template's own text.
    Output output(out, program.code.text.size());
    Renderer renderer(output, program, root, ways);
    if (!renderer.run(0, static_cast<std::uint32_t>(program.code.instructions.size())) ||
        !renderer.check_end()) {
        return std::unexpected(std::move(*renderer.fault()));
    }
    output.keep();
    return {};
}

}  // namespace tiderace::text
