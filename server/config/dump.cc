#include "server/config/dump.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <iterator>
#include <set>
#include <utility>
#include <vector>

#include "server/config/key_texts.h"
#include "server/config/keys.h"
#include "server/config/toml_text.h"
#include "server/terminal.h"

namespace tiderace::server::config {
namespace {

constexpr std::size_t dump_origin_column = 40;

std::string fraction_text(double value, bool is_json) {
    if (std::isfinite(value)) return std::to_string(value);
    const std::string text = std::isnan(value) ? "nan" : value < 0 ? "-inf" : "inf";
    return is_json ? string_text(text) : text;
}

}  // namespace

std::string value_text(const Value& value, bool is_masked, bool is_json) {
    if (is_masked || value.is_secret) return string_text("…");
    if (const auto* const text = value.get<std::string>()) return string_text(*text);
    if (const auto* const number = value.get<std::int64_t>()) return std::to_string(*number);
    if (const auto* const truth = value.get<bool>()) return *truth ? "true" : "false";
    if (const auto* const fraction = value.get<double>()) return fraction_text(*fraction, is_json);
    std::string whole;
    const auto add = [&](const std::string& part) { whole += (whole.empty() ? "" : ", ") + part; };
    if (const Array* const array = value.get<Array>()) {
        for (const Value& each : *array) add(value_text(each, false, is_json));
        return "[" + whole + "]";
    }
    const Table* const table = value.get<Table>();
    if (table == nullptr) return string_text("a date");
    for (const Member& each : table->members) {
        const std::string key = is_json ? string_text(each.key) + ": " : key_text(each.key) + " = ";
        add(key + value_text(each.value, false, is_json));
    }
    return whole.empty() ? "{}" : is_json ? "{" + whole + "}" : "{ " + whole + " }";
}

namespace {

bool is_list_of_tables(const Value& value) {
    const Array* const array = value.get<Array>();
    return array != nullptr && !array->empty() &&
           std::ranges::all_of(*array,
                               [](const Value& each) { return each.get<Table>() != nullptr; });
}

class Dump {
  public:
    Dump(const Table& top, const Sources& sources, DumpForm form)
        : top_(top), sources_(sources), form_(form) {}

    std::string print() {
        if (form_.is_json) text_ = "[";
        begin({}, {});
        add_settings(top_, "", "");
        for (const Member& each : top_.members) add_top(each);
        if (form_.is_effective) add_missing_tables();
        if (form_.is_json) text_ += text_.size() > 1 ? "\n]" : "]";
        return text_ + (form_.is_json ? "\n" : "");
    }

  private:
    struct Origin {
        std::string text;
        std::string json;
    };

    void begin(std::string header, std::string path) {
        header_ = std::move(header);
        path_ = std::move(path);
        known_.clear();
    }

    void add_top(const Member& member) {
        if (form_.is_effective && member.key == "preset") return;
        const std::string name = key_text(member.key);
        if (is_list_of_tables(member.value)) {
            add_list(member, name, name);
        } else if (const Table* const table = member.value.get<Table>()) {
            begin("[" + name + "]", name);
            add_table(*table, kind_of("[" + member.key + "]"), member.key == "users");
            if (!form_.is_json) add_header();  // also [metrics] alone says something
        }
    }

    // [[site]], and below each its [[site.route]].
    void add_list(const Member& list, const std::string& name, const std::string& path) {
        const auto kind = kind_of("[[" + name + "]]");
        std::size_t number = 0;
        for (const Value& each : *list.value.get<Array>()) {
            const std::string here = path + "[" + std::to_string(number++) + "]";
            begin("[[" + name + "]]", here);
            const Table& table = *each.get<Table>();
            add_table(table, kind, false);
            for (const Member& inner : table.members) {
                if (!is_list_of_tables(inner.value)) continue;
                const std::string key = key_text(inner.key);
                add_list(inner, name + "." + key, here + "." + key);
            }
        }
    }

    static std::optional<TableKind> kind_of(const std::string& title) {
        const auto found =
            std::ranges::find(keys(), title, [](const Key& key) { return title_of(key.in); });
        return found != keys().end() ? std::optional(found->in) : std::nullopt;
    }

    void add_table(const Table& table, std::optional<TableKind> kind, bool has_passwords) {
        add_settings(table, "", "", has_passwords);
        if (form_.is_effective && kind) {
            if (const Member* const use = table.find("use")) add_presets(*use);
            add_defaults(*kind);
        }
        for (const Member& each : table.members) {
            const bool is_of_the_top = path_.find('[') == path_.npos;
            if (is_of_the_top && is_list_of_tables(each.value)) {
                const std::string name = path_ + "." + key_text(each.key);
                add_list(each, name, name);
            }
        }
    }

    // The values of a table; a table in it becomes dotted keys.
    void add_settings(const Table& table, const std::string& prefix, const std::string& preset,
                      bool has_passwords = false) {
        for (const Member& each : table.members) {
            const std::string key = prefix + key_text(each.key);
            const Table* const inner = each.value.get<Table>();
            const bool has_header = prefix.empty() && is_list_of_tables(each.value);
            if (has_header || (inner != nullptr && path_.empty())) continue;
            if (form_.is_effective && each.key == "use") continue;
            if (inner != nullptr && !inner->members.empty()) {
                // Fields and error pages add up; of other tables the nearest is the whole.
                const bool adds_up = key.starts_with("response") || key.starts_with("error_pages");
                if (!preset.empty() && !adds_up && has_any_of(key + ".")) continue;
                add_settings(*inner, key + ".", preset, has_passwords);
            } else if (preset.empty() || !is_known(key)) {
                const bool is_masked = has_passwords && !prefix.empty();
                add(key, value_text(each.value, is_masked, form_.is_json),
                    origin_of(each.value, preset));
            }
        }
    }

    // The last one counts most.
    void add_presets(const Member& use) {
        const Member* const presets = top_.find("preset");
        const Table* const all = presets != nullptr ? presets->value.get<Table>() : nullptr;
        const Array* const names = use.value.get<Array>();
        if (all == nullptr || names == nullptr) return;
        for (auto each = names->rbegin(); each != names->rend(); ++each) {
            const auto* const name = each->get<std::string>();
            const Member* const preset = name != nullptr ? all->find(*name) : nullptr;
            if (preset == nullptr || preset->value.get<Table>() == nullptr) continue;
            add_settings(*preset->value.get<Table>(), "", *name);
        }
    }

    void add_defaults(TableKind kind) {
        for (const Key& key : keys()) {
            // A site without `log` has what [log] says.
            const bool is_of_log = kind == TableKind::site && key.name == "log";
            if (key.in != kind || key.flag.empty() || is_of_log || is_known(key_text(key.name))) {
                continue;
            }
            const KeyFacts facts = facts_of(key);
            if (!facts.initial.empty()) {
                add(std::string(key.name), facts.initial, {"default", "\"default\": true"});
            } else if (!facts.unset.empty() && !form_.is_json) {
                add("# " + std::string(key.name), "(" + facts.unset + ")", {"default", ""});
            }
        }
        if (kind == TableKind::server && !has_any_of("file_cache.")) {
            path_ += ".file_cache";
            header_ = "[server.file_cache]";
            add_defaults(TableKind::file_cache);
        }
    }

    // [server], [log] and so on, of which the files say nothing.
    void add_missing_tables() {
        for (const TableKind kind :
             {TableKind::server, TableKind::log, TableKind::limits, TableKind::cgi}) {
            const std::string title(title_of(kind));
            const std::string name = title.substr(1, title.size() - 2);
            if (top_.find(name) != nullptr) continue;
            begin(title, name);
            add_defaults(kind);
        }
    }

    bool is_known(const std::string& key) const {
        return known_.contains(key) || has_any_of(key + ".");
    }
    bool has_any_of(const std::string& prefix) const {
        const auto next = known_.lower_bound(prefix);
        return next != known_.end() && next->starts_with(prefix);
    }

    Origin origin_of(const Value& value, const std::string& preset) const {
        const std::string& file = sources_.file(value.at.file).name;
        const std::string line = std::to_string(value.at.line);
        Origin origin{printable(file) + ":" + line,
                      "\"file\": " + string_text(file) + ", \"line\": " + line};
        const auto add = [&](std::string_view what, const std::string& name) {
            if (name.empty()) return;
            origin.text.append(", ").append(what).append(" ").append(printable(name));
            origin.json += ", " + string_text(what) + ": " + string_text(name);
        };
        add("preset", preset);
        add("variable", value.variables);
        return origin;
    }

    // Before the first key of its table.
    void add_header() {
        if (!header_.empty()) text_ += (text_.empty() ? "" : "\n") + header_ + "\n";
        header_.clear();
    }

    void add(const std::string& key, const std::string& value, const Origin& origin) {
        known_.insert(key);
        if (form_.is_json) {
            text_ += text_.size() > 1 ? ",\n  {" : "\n  {";
            text_ += "\"key\": " + string_text(path_.empty() ? key : path_ + "." + key) +
                     ", \"value\": " + value + ", " + origin.json + "}";
            return;
        }
        add_header();
        std::string line = key + (key.starts_with('#') ? ": " : " = ") + value;
        line.resize(std::max(line.size() + 2, dump_origin_column), ' ');
        text_ += line + "# " + origin.text + "\n";
    }

    const Table& top_;
    const Sources& sources_;
    DumpForm form_;
    std::string text_;
    std::string header_;  // that is not printed yet
    std::string path_;    // "site[0].route[1]"; "" at the top
    std::set<std::string, std::less<>> known_;
};

}  // namespace

std::string dump(const Table& top, const Sources& sources, DumpForm form) {
    return Dump(top, sources, form).print();
}

int dump_file(const std::string& path, DumpForm form) {
    Sources sources;
    Problems problems;
    const DocumentWorld world = this_world();
    const Table top = DocumentReader({sources, problems, world}).read(path);
    std::fputs(problems.text(sources).c_str(), stderr);
    if (problems.errors() > 0) return world.look(path, FileKind::file) ? 1 : 2;
    return print("tiderace", dump(top, sources, form));
}

}  // namespace tiderace::server::config
