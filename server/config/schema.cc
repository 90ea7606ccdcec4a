#include "server/config/schema.h"

#include <algorithm>
#include <string_view>
#include <vector>

#include "server/config/key_texts.h"
#include "server/config/keys.h"
#include "server/config/toml_text.h"

namespace tiderace::server::config {
namespace {

// Members of an object, each on its line.
class Members {
  public:
    explicit Members(std::size_t indent) : indent_(indent, ' ') {}

    void add(std::string_view name, std::string_view value) {
        text_.append(text_.empty() ? "\n" : ",\n").append(indent_).append(string_text(name));
        text_.append(": ").append(value);
    }
    std::string object() const { return "{" + text_ + "\n" + indent_.substr(2) + "}"; }

  private:
    std::string indent_;
    std::string text_;
};

// "[[site.route]]" is "route".
std::string_view definition_name(TableKind kind) {
    std::string_view title = title_of(kind);
    title.remove_prefix(std::min(title.find_first_not_of('['), title.size()));
    title = title.substr(0, title.find(']'));
    return title.substr(title.rfind('.') + 1);
}

std::string_view required_of(TableKind kind) {
    switch (kind) {
        case TableKind::listen:
            return R"(["address"])";
        case TableKind::certificate:
            return R"(["cert"])";
        case TableKind::admin:
            return R"(["socket"])";
        case TableKind::skip:
            return R"(["status"])";
        case TableKind::rate:
            return R"(["limit"])";
        case TableKind::auth:
            return R"(["users"])";
        default:
            return {};
    }
}

// "nginx: root; Caddy: root; flag: --spa": what the pages of the keys show beside the rest.
std::string comment_of(const KeyFacts& facts, const Key& key) {
    std::string words;
    const auto add = [&](std::string_view whose, std::string_view prefix, std::string_view word) {
        if (word.empty()) return;
        words.append(words.empty() ? "" : "; ").append(whose).append(": ");
        words.append(prefix).append(word);
    };
    add("nginx", "", facts.nginx);
    add("Caddy", "", facts.caddy);
    add("flag", "--", key.flag);
    add("unset", "", facts.unset);
    return words;
}

std::string schema_of(const Key& key) {
    const KeyFacts facts = facts_of(key);
    std::string text = "{\"description\": " + string_text(facts.about);
    if (!facts.schema.empty()) text += ", " + facts.schema;
    if (!facts.initial.empty()) text += ", \"default\": " + facts.initial;
    if (!facts.example.empty()) text += ", \"examples\": [" + facts.example + "]";
    if (const std::string words = comment_of(facts, key); !words.empty()) {
        text += ", \"$comment\": " + string_text(words);
    }
    return text + "}";
}

std::string properties_of(const auto& has, std::size_t indent) {
    Members properties(indent);
    std::vector<std::string_view> seen;
    for (const Key& key : keys()) {
        if (!key.later.empty() || !has(key)) continue;
        if (std::ranges::find(seen, key.name) != seen.end()) continue;
        seen.push_back(key.name);
        properties.add(key.name, schema_of(key));
    }
    return properties.object();
}

std::string definition(const auto& has, std::string_view required) {
    Members definition(6);
    definition.add("type", "\"object\"");
    definition.add("additionalProperties", "false");
    if (!required.empty()) definition.add("required", required);
    definition.add("properties", properties_of(has, 8));
    return definition.object();
}

std::string definitions() {
    Members all(4);
    std::vector<TableKind> done{TableKind::top};
    for (const Key& each : keys()) {
        const TableKind kind = each.in;
        if (std::ranges::find(done, kind) != done.end()) continue;
        done.push_back(kind);
        all.add(definition_name(kind),
                definition([=](const Key& key) { return key.in == kind; }, required_of(kind)));
    }
    all.add("preset", definition(
                          [](const Key& key) {
                              return (key.in == TableKind::site || key.in == TableKind::route) &&
                                     is_setting(key.name);
                          },
                          {}));
    all.add("time", R"({"type": "string", "pattern": )"
                    R"x("^(0|off|[0-9]+(ns|us|ms|s|m|h|d)|.*\\$\\{.*)$"})x");
    all.add("size", R"({"type": "string", "pattern": )"
                    R"x("^(off|[0-9]+(B|k|K|KiB|KB|m|M|MiB|MB|g|G|GiB|GB)?|.*\\$\\{.*)$"})x");
    all.add("variable", R"({"type": "string", "pattern": "\\$\\{"})");
    return all.object();
}

}  // namespace

std::string schema() {
    Members whole(2);
    whole.add("$schema", R"("https://json-schema.org/draft/2020-12/schema")");
    whole.add("title", R"("A configuration file of tiderace run")");
    whole.add("type", "\"object\"");
    whole.add("additionalProperties", "false");
    whole.add("properties",
              properties_of([](const Key& key) { return key.in == TableKind::top; }, 4));
    whole.add("$defs", definitions());
    return whole.object() + "\n";
}

}  // namespace tiderace::server::config
