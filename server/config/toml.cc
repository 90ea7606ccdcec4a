#include "server/config/toml.h"

#if TIDERACE_HAVE_TOML
#define TOML_EXCEPTIONS 0
#define TOML_ENABLE_FORMATTERS 0
// Of values in values: times parts_max, it is a depth that the stack has room for.
#define TOML_MAX_NESTED_VALUES 8
// It assumes here that a table's name begins a key, which "[[[" does not: the parser refuses it two
// lines below, unless the compiler was told that it cannot be.
#include <toml++/impl/preprocessor.h>
#undef TOML_ASSERT_ASSUME
#define TOML_ASSERT_ASSUME(expression) static_assert(true)
#include <toml++/toml.h>
#endif

#include <algorithm>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace tiderace::server::config {
#if TIDERACE_HAVE_TOML
namespace {

constexpr std::size_t parts_max = 100;  // of a key

Place place_of(const toml::source_region& region, std::uint32_t file) {
    const std::uint32_t line = region.begin.line;
    const bool is_on_one_line = region.end.line == line && region.end.column > region.begin.column;
    return {.file = file,
            .line = line,
            .column = region.begin.column,
            .width = is_on_one_line ? region.end.column - region.begin.column : 1};
}

// "a.a.a. …": each part is a table in a table, and of many the stack ends before the tree does.
std::optional<Place> find_deep_key(std::string_view text, std::uint32_t file) {
    Place at{.file = file, .line = 1, .column = 0};
    std::size_t dots = 0;
    bool is_quoted = false;  // a text may have many
    for (const char c : text) {
        ++at.column;
        if (c == '"') is_quoted = !is_quoted;
        if (c == '.' && !is_quoted && ++dots == parts_max) return at;
        if (c == ',' || c == '\n') dots = 0;
        if (c != '\n') continue;
        ++at.line;
        at.column = 0;
        is_quoted = false;
    }
    return std::nullopt;
}

Value value_of(const toml::node& node, std::uint32_t file);

// toml++ sorts by name; people and messages go by lines.
Table table_of(const toml::table& from, std::uint32_t file) {
    Table table;
    for (const auto& [key, node] : from) {
        table.members.push_back(
            {std::string(key.str()), place_of(key.source(), file), value_of(node, file)});
    }
    std::ranges::stable_sort(table.members, {}, [](const Member& each) {
        return std::pair(each.at.line, each.at.column);
    });
    return table;
}

Value value_of(const toml::node& node, std::uint32_t file) {
    Value value{.at = place_of(node.source(), file), .content = Date{}};
    if (const auto* const table = node.as_table()) {
        value.content = table_of(*table, file);
    } else if (const auto* const array = node.as_array()) {
        Array values;
        for (const toml::node& each : *array) values.push_back(value_of(each, file));
        value.content = std::move(values);
    } else if (const auto* const text = node.as_string()) {
        value.content = text->get();
    } else if (const auto* const number = node.as_integer()) {
        value.content = number->get();
    } else if (const auto* const fraction = node.as_floating_point()) {
        value.content = fraction->get();
    } else if (const auto* const truth = node.as_boolean()) {
        value.content = truth->get();
    }
    return value;
}

}  // namespace

Table parse_toml(const Sources& sources, std::uint32_t file, Problems& problems) {
    if (const auto deep = find_deep_key(sources.file(file).text, file)) {
        problems.error(*deep, "a key has at most " + std::to_string(parts_max) + " parts",
                       "nothing of the file was read");
        return {};
    }
    const toml::parse_result parsed = toml::parse(std::string_view(sources.file(file).text));
    if (parsed) return table_of(parsed.table(), file);
    const toml::parse_error& error = parsed.error();
    // "Error while parsing string: unescaped control characters …"
    std::string_view what = error.description();
    if (const auto colon = what.find(": "); what.starts_with("Error") && colon != what.npos) {
        what.remove_prefix(colon + 2);
    }
    // The usual reason: a line ends inside of a string.
    if (what.starts_with("unescaped control characters")) {
        what = "a quote is missing, or it has a control character";
    }
    problems.error(place_of(error.source(), file), "this is no TOML: " + std::string(what),
                   "what is behind this place was not read");
    return {};
}
#else
Table parse_toml(const Sources&, std::uint32_t file, Problems& problems) {
    problems.error({.file = file}, "this program was built without toml++, and reads no files",
                   "build it with libtomlplusplus-dev, or use the flags of tiderace serve");
    return {};
}
#endif

}  // namespace tiderace::server::config
