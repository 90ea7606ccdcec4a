#include "server/config/format_file.h"

#include <algorithm>
#include <cstdio>
#include <utility>

#include "server/config/document.h"
#include "server/config/format.h"
#include "server/config/toml.h"
#include "server/config/write_file.h"
#include "server/terminal.h"

namespace tiderace::server::config {
namespace {

constexpr std::string_view program = "tiderace";

bool is_same(const Table& one, const Table& other);

bool is_same(const Value& one, const Value& other) {
    if (one.content.index() != other.content.index()) return false;
    if (const auto* const table = one.get<Table>()) return is_same(*table, *other.get<Table>());
    if (const auto* const array = one.get<Array>()) {
        return std::ranges::equal(*array, *other.get<Array>(),
                                  [](const Value& a, const Value& b) { return is_same(a, b); });
    }
    if (const auto* const text = one.get<std::string>()) return *text == *other.get<std::string>();
    if (const auto* const whole = one.get<std::int64_t>()) {
        return *whole == *other.get<std::int64_t>();
    }
    if (const auto* const truth = one.get<bool>()) return *truth == *other.get<bool>();
    if (const auto* const fraction = one.get<double>()) {
        const double second = *other.get<double>();
        return *fraction == second || (*fraction != *fraction && second != second);
    }
    return true;  // dates: their text is one word, or two
}

bool is_same(const Table& one, const Table& other) {
    return std::ranges::equal(one.members, other.members, [](const Member& a, const Member& b) {
        return a.key == b.key && is_same(a.value, b.value);
    });
}

int list_lines(const std::string& path, const Sources& sources,
               const std::vector<std::size_t>& numbers) {
    std::string lines;
    for (const std::size_t number : numbers) {
        const Place at{.file = 0, .line = static_cast<std::uint32_t>(number)};
        lines += printable(path) + ":" + std::to_string(number) + ": " +
                 printable(sources.line_of(at)) + "\n";
    }
    print(program, lines);
    return numbers.empty() ? 0 : 1;
}

}  // namespace

int format_file(const std::string& path, bool only_check) {
    auto text = this_world().read(path, DocumentReader::file_bytes_max);
    if (!text) {
        complain(program, "cannot " + text.error().message());
        return 2;
    }
    Sources sources;
    Problems problems;
    const std::string original = std::move(*text);
    const Table before = parse_toml(sources, sources.add({path, original}), problems);
    const Formatted formatted = format_toml(original);
    const Table after = parse_toml(sources, sources.add({path, formatted.text}), problems);
    if (problems.errors() > 0) {
        std::fputs(problems.text(sources).c_str(), stderr);
        return 1;
    }
    if (!is_same(before, after)) {
        complain(program, path +
                              " would mean something else; it is left as it is: please report "
                              "this fault of tiderace fmt");
        return 1;
    }
    if (only_check) return list_lines(path, sources, formatted.changed_lines);
    if (formatted.text == original) return 0;
    if (auto written = replace_file(path, formatted.text); !written) {
        complain(program, "cannot " + written.error().message());
        return 1;
    }
    return 0;
}

}  // namespace tiderace::server::config
