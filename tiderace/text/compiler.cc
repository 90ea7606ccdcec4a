#include "tiderace/text/compiler.h"

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <string>
#include <utility>

#include "tiderace/text/html_context.h"

namespace tiderace::text {
namespace {

// One pass over the templates in the order in which their text is written. context_ follows the
// HTML meanwhile, so the place of each value is known when its instruction is made (decision 14).
//
//   with_layout   finds the outermost layout, and for each block the body that is shown
//   emit_…        appends a node's instructions; jumps forward are filled in by here()
//
// Where branches meet, their contexts are joined; where they cannot be, the template is refused.
struct Placed {
    const Tree* tree;
    const Node* node;
};
using Blocks = std::map<std::string_view, Placed>;

class Compiler {
  public:
    Compiler(Mode mode, const FindTree& find, const Limits& limits, Program& program)
        : mode_(mode), find_(find), limits_(limits), program_(program) {}

    bool compile(const Tree& tree);
    std::optional<Fault>& fault() { return fault_; }

  private:
    struct Variable {
        std::string_view name;
        int slot;
    };

    bool with_layout(const Tree& tree, const Tree*& outermost, Blocks& blocks);
    bool emit(const Tree& tree, const std::vector<Node>& nodes);
    bool emit_node(const Tree& tree, const Node& node);
    bool emit_text(const Tree& tree, const Node& node);
    bool emit_value(const Tree& tree, const Node& node);
    bool emit_choice(const Tree& tree, const Node& node);
    bool emit_loop(const Tree& tree, const Node& node);
    bool emit_loop_body(const Tree& tree, const Node& node, std::uint32_t at);
    bool emit_include(const Tree& tree, const Node& node);
    bool emit_block(const Tree& tree, const Node& node);
    bool decide_escape(const Tree& tree, const Node& node, Instruction& instruction);
    std::uint32_t operation(const Tree& tree, std::uint32_t index);
    bool find_variable(const Tree& tree, Operation& operation);
    bool find_loop_field(const Tree& tree, Operation& operation);
    const Tree* find(const Tree& from, std::string_view name, std::size_t offset);
    std::uint32_t source_of(const Tree& tree);
    bool fail(const Tree& tree, std::size_t offset, std::string problem) {
        if (!fault_) fault_ = fault_at(*tree.source, offset, std::move(problem));
        return false;
    }
    std::uint32_t here() {
        may_merge_ = false;  // something jumps here
        return static_cast<std::uint32_t>(program_.code.instructions.size());
    }
    std::uint32_t add(Instruction instruction);  // where it stands

    Mode mode_;
    const FindTree& find_;
    const Limits& limits_;
    Program& program_;
    std::optional<Fault> fault_;
    HtmlContext context_;
    std::vector<const Tree*> open_;  // the template, what it includes, what that includes …
    std::vector<Blocks> blocks_;     // for each of open_
    std::vector<Variable> variables_;
    std::vector<int> loops_;  // item slots of the loops around
    int slots_ = 0;
    std::size_t nodes_ = 0;   // so far, each time that one is included
    bool may_merge_ = false;  // text may be added to the instruction before
};

bool Compiler::compile(const Tree& tree) {
    const Tree* outermost = &tree;
    Blocks blocks;
    if (!with_layout(tree, outermost, blocks)) return false;
    open_.push_back(&tree);
    blocks_.push_back(std::move(blocks));
    if (!emit(*outermost, outermost->nodes)) return false;
    // A page that ends inside a tag or a script would swallow whatever is appended to it.
    if (mode_ == Mode::html && !context_.is_text()) {
        return fail(tree, tree.source->text.size(),
                    "the template ends " + context_.describe() + "; close what is open");
    }
    return true;
}

void collect(const Tree& tree, const std::vector<Node>& nodes, Blocks& blocks) {
    for (const Node& node : nodes) {
        // The first one stays: it is the one of the template nearest to the page.
        if (node.kind == Node::Kind::block) blocks.try_emplace(node.text, Placed{&tree, &node});
        // A block of a layout may hold blocks, which can be replaced on their own.
        for (const Branch& branch : node.branches) collect(tree, branch.body, blocks);
    }
}

// Blocks of the template come before blocks of its layout, which may have a layout in turn.
bool Compiler::with_layout(const Tree& tree, const Tree*& outermost, Blocks& blocks) {
    std::vector<const Tree*> above = {&tree};
    collect(tree, tree.nodes, blocks);
    while (!outermost->extends.text.empty()) {
        const Tree& below = *outermost;
        const Tree* layout = find(below, below.extends.text, below.extends.offset);
        if (layout == nullptr) return false;
        if (std::ranges::find(above, layout) != above.end()) {
            return fail(below, below.extends.offset,
                        "\"" + std::string(below.extends.text) + "\" extends itself");
        }
        if (above.size() > limits_.include_depth_max) {
            return fail(below, below.extends.offset,
                        "more layouts than include_depth_max (" +
                            std::to_string(limits_.include_depth_max) + ")");
        }
        above.push_back(layout);
        collect(*layout, layout->nodes, blocks);
        outermost = layout;
    }
    return true;
}

const Tree* Compiler::find(const Tree& from, std::string_view name, std::size_t offset) {
    auto found = find_(name);
    if (!found) {
        if (!fault_) fault_ = std::move(found.error());
        return nullptr;
    }
    if (*found == nullptr) fail(from, offset, "no template \"" + std::string(name) + "\"");
    if (std::ranges::find(program_.uses, name) == program_.uses.end()) {
        program_.uses.emplace_back(name);
    }
    return *found;
}

std::uint32_t Compiler::source_of(const Tree& tree) {
    const auto known = std::ranges::find(program_.sources, tree.source);
    if (known != program_.sources.end()) {
        return static_cast<std::uint32_t>(known - program_.sources.begin());
    }
    program_.sources.push_back(tree.source);
    return static_cast<std::uint32_t>(program_.sources.size() - 1);
}

std::uint32_t Compiler::add(Instruction instruction) {
    program_.code.instructions.push_back(instruction);
    may_merge_ = instruction.code == Instruction::Code::text;
    return static_cast<std::uint32_t>(program_.code.instructions.size() - 1);
}

bool Compiler::emit(const Tree& tree, const std::vector<Node>& nodes) {
    for (const Node& node : nodes) {
        if (!emit_node(tree, node)) return false;
    }
    return true;
}

bool Compiler::emit_node(const Tree& tree, const Node& node) {
    // Counted after inclusion: few templates that include each other twice make 2^depth nodes.
    if (++nodes_ > limits_.nodes_max) {
        return fail(tree, node.offset,
                    "the template with its includes has more parts than "
                    "nodes_max (" +
                        std::to_string(limits_.nodes_max) + ")");
    }
    switch (node.kind) {
        case Node::Kind::text:
            return emit_text(tree, node);
        case Node::Kind::value:
            return emit_value(tree, node);
        case Node::Kind::choice:
            return emit_choice(tree, node);
        case Node::Kind::loop:
            return emit_loop(tree, node);
        case Node::Kind::include:
            return emit_include(tree, node);
        case Node::Kind::block:
            return emit_block(tree, node);
    }
    std::unreachable();
}

bool Compiler::emit_text(const Tree& tree, const Node& node) {
    if (mode_ == Mode::html) {
        if (auto refused = context_.literal(node.text)) {
            return fail(tree, node.offset + refused->offset, std::move(refused->problem));
        }
    }
    const auto from = static_cast<std::uint32_t>(program_.code.text.size());
    program_.code.text += node.text;
    const auto to = static_cast<std::uint32_t>(program_.code.text.size());
    // The text alone would be refused at every rendering, so it is refused here.
    if (program_.code.text.size() > limits_.output_bytes_max) {
        return fail(tree, node.offset,
                    "the template with its includes has more text than "
                    "output_bytes_max (" +
                        std::to_string(limits_.output_bytes_max) + ")");
    }
    // Text of a neighbouring include or block: its bytes follow directly in program_.code.text.
    if (may_merge_) {
        program_.code.instructions.back().to = to;
        return true;
    }
    add({.code = Instruction::Code::text, .from = from, .to = to});
    return true;
}

bool Compiler::emit_value(const Tree& tree, const Node& node) {
    Instruction instruction = {.code = Instruction::Code::value};
    if (!decide_escape(tree, node, instruction)) return false;
    instruction.operation = operation(tree, node.expression);
    add(instruction);
    return !fault_;
}

bool Compiler::decide_escape(const Tree& tree, const Node& node, Instruction& instruction) {
    const Expression& expression = tree.expressions[node.expression];
    if (mode_ == Mode::plain) return true;
    const bool is_between_tags = context_.is_text();
    const auto how = context_.value();
    if (!how) return fail(tree, node.offset, how.error());
    instruction.escape = *how;
    const Filter* const filter = expression.filter;
    // Only the outermost filter counts, because its result is written.
    if (filter == nullptr) return true;
    if (filter->gives == Filter::Gives::html) {
        const Expression& inner = tree.expressions[expression.operands[0]];
        if (!is_between_tags) {
            return fail(tree, expression.offset,
                        "safe: is for HTML between tags, and this is " + context_.describe());
        }
        // A filter inside could have changed the HTML, for instance cut it within a tag.
        if (inner.kind != Expression::Kind::path) {
            return fail(tree, expression.offset, "safe: has to be the only filter of a name");
        }
        instruction.escape = Escape::none;
    }
    // Encoded twice, %20 would become %2520. A user's filter of that name may do something else.
    if (filter->name == "urlencode" && filter->user == nullptr &&
        (*how == Escape::url || *how == Escape::url_part)) {
        return fail(tree, expression.offset, "urlencode: a value in a URL is encoded already");
    }
    return true;
}

std::uint32_t Compiler::operation(const Tree& tree, std::uint32_t index) {
    Operation made;
    made.expression = tree.expressions[index];
    made.source = source_of(tree);
    for (std::size_t i = 0; i < made.expression.operands.size(); ++i) {
        const bool is_safe = made.expression.filter != nullptr &&
                             made.expression.filter->gives == Filter::Gives::html;
        const Expression& operand = tree.expressions[made.expression.operands[i]];
        // `safe` below another filter or in a condition would mark text that is escaped anyhow.
        if (operand.filter != nullptr && operand.filter->gives == Filter::Gives::html && !is_safe) {
            fail(tree, operand.offset, "safe: has to be the only filter of a value that is shown");
        }
        made.expression.operands[i] = operation(tree, made.expression.operands[i]);
    }
    if (made.expression.kind == Expression::Kind::path) find_variable(tree, made);
    made.found.resize(made.expression.names.size());
    program_.operations.push_back(std::move(made));
    return static_cast<std::uint32_t>(program_.operations.size() - 1);
}

bool Compiler::find_variable(const Tree& tree, Operation& operation) {
    const Name first = operation.expression.names.front();
    if (first.text == "loop" && !loops_.empty()) return find_loop_field(tree, operation);
    // From the innermost loop out, so that an inner variable hides an outer one.
    for (auto variable = variables_.rbegin(); variable != variables_.rend(); ++variable) {
        if (variable->name != first.text) continue;
        operation.slot = variable->slot;
        return true;
    }
    return true;
}

bool Compiler::find_loop_field(const Tree& tree, Operation& operation) {
    constexpr std::array<std::pair<std::string_view, LoopField>, 4> fields = {
        {{"index", LoopField::index},
         {"first", LoopField::first},
         {"last", LoopField::last},
         {"length", LoopField::length}}};
    const auto& names = operation.expression.names;
    // `loop` is the innermost loop: here the slot is its depth, not the place of a variable.
    operation.slot = static_cast<int>(loops_.size()) - 1;
    for (const auto& [name, field] : fields) {
        if (names.size() == 2 && names[1].text == name) operation.loop_field = field;
    }
    if (operation.loop_field != LoopField::none) return true;
    return fail(tree, names[names.size() > 1 ? 1 : 0].offset,
                "loop has index (from 1), first, last and length");
}

bool Compiler::emit_choice(const Tree& tree, const Node& node) {
    const HtmlContext start = context_;
    std::optional<HtmlContext> end;
    std::vector<std::uint32_t> jumps;
    const auto finish = [&](std::size_t offset) {
        if (!end) {
            end = context_;
            return true;
        }
        HtmlContext joined = *end;
        if (!joined.join(context_)) {
            return fail(tree, offset,
                        "the branches of this {% if %} end in different places: " +
                            end->describe() + ", and " + context_.describe());
        }
        end = std::move(joined);
        return true;
    };
    for (const Branch& branch : node.branches) {
        context_ = start;
        std::uint32_t unless = 0;
        const bool has_condition = branch.condition != no_expression;
        if (has_condition) {
            const std::uint32_t condition = operation(tree, branch.condition);
            unless = add({.code = Instruction::Code::unless, .operation = condition});
        }
        if (fault_ || !emit(tree, branch.body) || !finish(branch.offset)) return false;
        if (!has_condition) continue;
        jumps.push_back(add({.code = Instruction::Code::jump}));
        program_.code.instructions[unless].to = here();
    }
    // Without {% else %} the way past all branches is one more branch, which writes nothing.
    if (node.branches.back().condition != no_expression) {
        context_ = start;
        if (!finish(node.offset)) return false;
    }
    for (const std::uint32_t jump : jumps) program_.code.instructions[jump].to = here();
    context_ = *end;
    may_merge_ = false;
    return true;
}

bool Compiler::emit_loop(const Tree& tree, const Node& node) {
    if (loops_.size() == loop_depth_max) {
        return fail(tree, node.offset,
                    "loops deeper than loop_depth_max (" + std::to_string(loop_depth_max) + ")");
    }
    Instruction loop = {.code = Instruction::Code::loop};
    loop.operation = operation(tree, node.expression);
    loop.loop = static_cast<std::uint8_t>(loops_.size());
    loop.has_key = !node.key.text.empty();
    const std::uint32_t at = add(loop);
    if (fault_) return false;
    // The body may follow its own end, so what a `/` would mean at its start is unknown.
    context_.enter_loop();
    const HtmlContext start = context_;
    if (!emit_loop_body(tree, node, at)) return false;
    HtmlContext after_body = std::exchange(context_, start);
    after_body.enter_loop();
    if (!(after_body == start)) {
        return fail(tree, node.offset,
                    "the body of this {% for %} ends in another place than it "
                    "begins: " +
                        after_body.describe() + ", not " + start.describe());
    }
    program_.code.instructions[at].to = here();
    // {% else %} runs instead of the body, from the context before the loop.
    if (node.branches.size() > 1) {
        if (!emit(tree, node.branches[1].body)) return false;
        if (!after_body.join(context_)) {
            return fail(tree, node.branches[1].offset,
                        "the {% else %} of this {% for %} ends in another place: " +
                            context_.describe() + ", not " + after_body.describe());
        }
        context_ = after_body;
    }
    program_.code.instructions[at].otherwise = here();
    return true;
}

bool Compiler::emit_loop_body(const Tree& tree, const Node& node, std::uint32_t at) {
    const std::size_t variables = variables_.size();
    if (!node.key.text.empty()) variables_.push_back({node.key.text, slots_++});
    // The item's slot follows the key's, which is why the renderer finds the key at slot - 1.
    variables_.push_back({node.item.text, slots_});
    program_.code.instructions[at].slot = static_cast<std::uint8_t>(slots_);
    loops_.push_back(slots_++);
    may_merge_ = false;
    const bool done = emit(tree, node.branches[0].body);
    loops_.pop_back();
    slots_ -= node.key.text.empty() ? 1 : 2;
    variables_.resize(variables);
    return done;
}

bool Compiler::emit_include(const Tree& tree, const Node& node) {
    const Tree* const included = find(tree, node.text, node.offset);
    if (included == nullptr) return false;
    const std::string quoted = "\"" + std::string(node.text) + "\"";
    // `tree` may be a layout, which is not in open_.
    if (included == &tree || std::ranges::find(open_, included) != open_.end()) {
        return fail(tree, node.offset, quoted + " includes itself");
    }
    if (open_.size() > limits_.include_depth_max) {
        return fail(tree, node.offset,
                    "includes deeper than include_depth_max (" +
                        std::to_string(limits_.include_depth_max) + ")");
    }
    // Its layout is a page of its own, which would stand inside this one.
    if (!included->extends.text.empty()) {
        return fail(tree, node.offset, quoted + " extends a layout, and cannot be included");
    }
    open_.push_back(included);
    // An included template's blocks are its own: the page that includes it does not replace them.
    blocks_.emplace_back();
    const bool done = emit(*included, included->nodes);
    blocks_.pop_back();
    open_.pop_back();
    return done;
}

bool Compiler::emit_block(const Tree& tree, const Node& node) {
    const auto placed = blocks_.back().find(node.text);
    if (placed == blocks_.back().end()) return emit(tree, node.branches[0].body);
    const Placed inside = placed->second;
    return emit(*inside.tree, inside.node->branches[0].body);
}

}  // namespace

std::expected<Program, Fault> compile(const Tree& tree, Mode mode, const FindTree& find,
                                      std::shared_ptr<const std::vector<Filter>> filters,
                                      const Limits& limits) {
    Program program;
    program.name = tree.source->name;
    program.filters = std::move(filters);
    program.limits = limits;
    program.uses.push_back(program.name);
    Compiler compiler(mode, find, limits, program);
    if (!compiler.compile(tree)) return std::unexpected(std::move(*compiler.fault()));
    return program;
}

}  // namespace tiderace::text
