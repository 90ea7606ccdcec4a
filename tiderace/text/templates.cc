#include "tiderace/text/templates.h"

#include <algorithm>
#include <atomic>
#include <memory>
#include <utility>

#include "tiderace/text/checker.h"
#include "tiderace/text/renderer.h"

namespace tiderace::text {

// Types that a template is shown with and was not checked for: a page whose type is known only when
// it is shown, or the second one of a template. More are rendered by searching for names.
constexpr std::size_t other_types_max = 8;

struct OtherType {
    const Type* type = nullptr;
    Ways ways = {};
    const OtherType* next = nullptr;
    std::size_t number = 0;
};

// Any thread that renders adds one in front. They stay until the program changes, which no thread
// renders meanwhile.
class OtherTypes {
  public:
    OtherTypes() = default;
    ~OtherTypes() { clear(); }
    OtherTypes(const OtherTypes&) = delete;
    OtherTypes& operator=(const OtherTypes&) = delete;

    const OtherType& of(const Program& program, const Type& type) {
        const OtherType* const first = first_.load(std::memory_order_acquire);
        for (const OtherType* at = first; at != nullptr; at = at->next) {
            if (at->type == &type) return *at;
        }
        static const OtherType none;
        const std::size_t number = first == nullptr ? 1 : first->number + 1;
        if (number > other_types_max) return none;
        auto made = std::make_unique<const OtherType>(
            OtherType{&type, find_ways(program, type), first, number});
        const OtherType* expected = first;
        // Another thread may have added one meanwhile, perhaps the same: the next page has it.
        if (!first_.compare_exchange_strong(expected, made.get(), std::memory_order_acq_rel)) {
            return none;
        }
        return *made.release();
    }
    void clear() {
        const OtherType* at = first_.exchange(nullptr);
        while (at != nullptr) delete std::exchange(at, at->next);
    }

  private:
    std::atomic<const OtherType*> first_ = nullptr;
};

struct Templates::Entry {
    std::string name;
    std::shared_ptr<const Source> source;            // null: named by another, never seen
    std::optional<std::expected<Tree, Fault>> tree;  // parsed when it is needed
    std::optional<Program> good;
    const Type* checked = nullptr;  // what it has to fit
    mutable OtherTypes others;
    bool from_loader = false;
    bool changed = false;  // `good`, if there is one, is older than the sources
};

namespace {

std::expected<void, Faults> done_or(Faults faults) {
    if (faults.empty()) return {};
    return std::unexpected(std::move(faults));
}

Fault without_place(std::string_view name, std::string problem) {
    Fault fault;
    fault.file = name;
    fault.problem = std::move(problem);
    return fault;
}

}  // namespace

Options& Options::filter(std::string name, UserFilter function, std::size_t arguments) {
    filters.push_back({.name = std::move(name),
                       .arguments = std::min(arguments, filter_arguments_max),
                       .user = std::move(function)});
    return *this;
}

Templates::Templates(Options options)
    : options_(std::move(options)),
      filters_(std::make_shared<const std::vector<Filter>>(std::move(options_.filters))) {}
Templates::~Templates() = default;
Templates::Templates(Templates&&) noexcept = default;
Templates& Templates::operator=(Templates&&) noexcept = default;

Templates::Entry& Templates::entry(std::string_view name) {
    const auto known = entries_.find(name);
    if (known != entries_.end()) return *known->second;
    auto made = std::make_unique<Entry>();
    made->name = name;
    return *entries_.emplace(std::string(name), std::move(made)).first->second;
}

void Templates::set_source(Entry& entry, std::string source) {
    // A new object: programs of the version before share the old one, which their faults quote.
    entry.source = std::make_shared<const Source>(Source{entry.name, std::move(source)});
    entry.tree.reset();
    entry.changed = true;
}

std::expected<void, Faults> Templates::add(std::string_view name, std::string source) {
    if (!entries_.contains(name) && entries_.size() >= templates_max) {
        return std::unexpected(Faults{without_place(
            name, "the set has templates_max (" + std::to_string(templates_max) + ") templates")});
    }
    Entry& changed = entry(name);
    changed.from_loader = false;
    set_source(changed, std::move(source));
    return done_or(compile_changed());
}

std::expected<void, Faults> Templates::load(std::string_view name) {
    const auto found = find(name);
    if (!found) return std::unexpected(Faults{found.error()});
    if (*found == nullptr) return std::unexpected(Faults{without_place(name, "no such template")});
    return done_or(compile_changed());
}

std::expected<void, Faults> Templates::reload() {
    if (options_.loader == nullptr) return {};
    Faults faults;
    for (auto& [name, known] : entries_) {
        if (!known->from_loader) continue;
        auto text = options_.loader->load(name);
        if (!text) {
            faults.push_back(without_place(name, "the template is gone; its last version stays"));
        } else if (known->source->text != *text) {
            // Compared by the text, so that a reload of unchanged files compiles nothing.
            set_source(*known, std::move(*text));
        }
    }
    for (Fault& fault : compile_changed()) faults.push_back(std::move(fault));
    return done_or(std::move(faults));
}

// The tree of a template, asked for from the loader where it was not added.
std::expected<const Tree*, Fault> Templates::find(std::string_view name) {
    auto known = entries_.find(name);
    if (known == entries_.end()) {
        if (options_.loader == nullptr || entries_.size() >= templates_max) return nullptr;
        auto text = options_.loader->load(name);
        if (!text) return nullptr;
        Entry& made = entry(name);
        made.from_loader = true;
        set_source(made, std::move(*text));
        known = entries_.find(name);
    }
    Entry& found = *known->second;
    // Kept with its fault, if it has one: each template that names it would parse it again.
    if (!found.tree) found.tree.emplace(parse(found.source, *filters_, options_.limits));
    if (!*found.tree) return std::unexpected(found.tree->error());
    return &**found.tree;
}

std::optional<Fault> Templates::compile_entry(Entry& changed) {
    const auto tree = find(changed.name);
    if (!tree) return tree.error();
    const FindTree find_tree = [this](std::string_view name) { return find(name); };
    auto made = text::compile(**tree, options_.mode, find_tree, filters_, options_.limits);
    if (!made) return std::move(made.error());
    if (changed.checked != nullptr) {
        if (auto fits = text::check(*made, *changed.checked); !fits) return std::move(fits.error());
    }
    // Only now: a template that does not compile or does not fit keeps its last good version.
    changed.others.clear();
    changed.good = std::move(*made);
    changed.changed = false;
    return std::nullopt;
}

// Compiles what has changed, what uses it, and what had a fault before. A template with a fault
// stays changed, so that it is tried again; each fault is reported once, wherever it shows.
Faults Templates::compile_changed() {
    std::vector<std::string> changed;
    for (const auto& [name, known] : entries_) {
        if (known->changed) changed.push_back(name);
    }
    for (auto& [name, known] : entries_) {
        if (!known->good) continue;
        // `uses` also holds includes of includes, so one pass reaches everything.
        known->changed |= std::ranges::any_of(known->good->uses, [&](const std::string& used) {
            return std::ranges::find(changed, used) != changed.end();
        });
    }
    Faults faults;
    // The loader may add templates while we go. This round still reaches the ones that come later
    // in the map, the next round reaches the others.
    for (bool found_more = true; found_more;) {
        const std::size_t count = entries_.size();
        for (auto& [name, known] : entries_) {
            if (!known->changed) continue;
            auto fault = compile_entry(*known);
            if (!fault) continue;
            const std::string said = fault->message();
            const bool is_new = std::ranges::none_of(
                faults, [&](const Fault& other) { return other.message() == said; });
            if (is_new) faults.push_back(std::move(*fault));
        }
        found_more = entries_.size() != count;
    }
    return faults;
}

const Program* Templates::program(std::string_view name) const {
    const auto found = entries_.find(name);
    return found == entries_.end() || !found->second->good ? nullptr : &*found->second->good;
}

std::expected<void, Fault> Templates::check_type(std::string_view name, const Type& type) {
    const auto known = entries_.find(name);
    if (known == entries_.end() || !known->second->good) {
        return std::unexpected(without_place(name, "no such template"));
    }
    Entry& checked = *known->second;
    if (auto fits = text::check(*checked.good, type); !fits) return fits;
    // Every later version has to fit as well.
    checked.checked = &type;
    return {};
}

std::expected<void, Fault> Templates::render_value(std::string& out, std::string_view name,
                                                   Ref value) const {
    const auto found = entries_.find(name);
    if (found == entries_.end() || !found->second->good) {
        return std::unexpected(without_place(name, "no such template"));
    }
    const Entry& known = *found->second;
    const Program& program = *known.good;
    // A Type is one object for each C++ type, so its address is its name.
    const bool is_checked = value.type == known.checked;
    return text::render(out, program, value,
                        is_checked ? program.ways : known.others.of(program, *value.type).ways);
}

std::expected<Template, Fault> Template::compile(std::string_view name, std::string source,
                                                 Options options) {
    Templates set(std::move(options));
    if (auto added = set.add(name, std::move(source)); !added) {
        return std::unexpected(std::move(added.error().front()));
    }
    return Template(std::move(set), name);
}

}  // namespace tiderace::text
