// Templates: a set of templates that extend and include each other, each with its last good
// version. Template: one alone.
//
//   add(), reload() ──compiles──> good: takes the place of the version before
//                          └────> broken: its fault is returned, the version before stays
//
// Thread   add, check and reload: one at a time, while no thread renders. render: any.
// Errors   Faults, never an end of the process.
// Limits   Limits; templates_max in a set.
#pragma once

#include <expected>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tiderace/text/compiler.h"
#include "tiderace/text/fault.h"
#include "tiderace/text/filter.h"
#include "tiderace/text/limits.h"
#include "tiderace/text/program.h"
#include "tiderace/text/type_of.h"
#include "tiderace/text/value.h"

namespace tiderace::text {

inline constexpr std::size_t templates_max = 10'000;

// Where templates come from: files, a database, an archive.
class Loader {
  public:
    virtual ~Loader() = default;
    // nullopt: there is none of that name.
    virtual std::optional<std::string> load(std::string_view name) = 0;
};

struct Options {
    Mode mode = Mode::html;
    Limits limits = {};
    Loader* loader = nullptr;  // must outlive the set
    std::vector<Filter> filters = {};

    // A filter of the user's: {{ text | name: argument }}, with `arguments` of them.
    Options& filter(std::string name, UserFilter function, std::size_t arguments = 0);
};

class Templates {
  public:
    explicit Templates(Options options = {});
    ~Templates();
    Templates(Templates&&) noexcept;
    Templates& operator=(Templates&&) noexcept;

    // Adds a template or replaces its source. Compiles it and the templates that use it or wait
    // for it, and returns the faults of them all; a template that it names may be added later.
    std::expected<void, Faults> add(std::string_view name, std::string source);
    // Asks the loader for the template, unless it was added before.
    std::expected<void, Faults> load(std::string_view name);
    // Asks the loader again for all that came from it, and compiles anew what has changed.
    std::expected<void, Faults> reload();

    // Whether a template fits T. From then on a new version that does not is refused.
    template <typename T>
    std::expected<void, Fault> check(std::string_view name) {
        return check_type(name, type_of<T>);
    }

    // Appends to `out`, which stays as it was when there is a fault.
    template <typename T>
    std::expected<void, Fault> render(std::string& out, std::string_view name,
                                      const T& value) const {
        return render_value(out, name, ref_to(value));
    }

    // The same for a type that is not known here.
    std::expected<void, Fault> check(std::string_view name, const Type& type) {
        return check_type(name, type);
    }
    std::expected<void, Fault> render(std::string& out, std::string_view name, Ref value) const {
        return render_value(out, name, value);
    }

    bool has(std::string_view name) const { return program(name) != nullptr; }

  private:
    struct Entry;

    std::expected<void, Fault> check_type(std::string_view name, const Type& type);
    std::expected<void, Fault> render_value(std::string& out, std::string_view name,
                                            Ref value) const;
    const Program* program(std::string_view name) const;
    Entry& entry(std::string_view name);
    void set_source(Entry& entry, std::string source);
    std::expected<const Tree*, Fault> find(std::string_view name);
    std::optional<Fault> compile_entry(Entry& entry);
    Faults compile_changed();

    Options options_;
    std::shared_ptr<const std::vector<Filter>> filters_;
    std::map<std::string, std::unique_ptr<Entry>, std::less<>> entries_;
};

// A single template, which uses no other.
class Template {
  public:
    static std::expected<Template, Fault> compile(std::string_view name, std::string source,
                                                  Options options = {});

    template <typename T>
    std::expected<void, Fault> check() {
        return set_.check<T>(name_);
    }
    template <typename T>
    std::expected<void, Fault> render(std::string& out, const T& value) const {
        return set_.render(out, name_, value);
    }

  private:
    Template(Templates set, std::string_view name) : set_(std::move(set)), name_(name) {}

    Templates set_;
    std::string name_;
};

}  // namespace tiderace::text
