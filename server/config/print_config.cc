#include "server/config/print_config.h"

#include <algorithm>
#include <filesystem>
#include <map>
#include <utility>
#include <vector>

#include "server/command_line/apply_flag.h"
#include "server/config/keys.h"
#include "server/config/toml_text.h"

namespace tiderace::server::config {
namespace {

std::string absolute(const std::string& path) {
    std::error_code fault;
    const auto whole = std::filesystem::absolute(path.empty() ? "." : path, fault);
    return fault ? path : whole.lexically_normal().string();
}

std::string file_or_word(const std::string& file) {
    return file == "-" || file == "off" ? file : absolute(file);
}

std::string list_of(const std::vector<std::string>& texts) {
    std::string list = "[";
    for (const std::string& each : texts) list += (list.size() > 1 ? ", " : "") + string_text(each);
    return list + "]";
}

std::string codings_text(const http::wire::AvailableCodings& codings) {
    std::string text;
    const auto add = [&](bool has, std::string_view name) {
        if (has) text.append(text.empty() ? "" : ",").append(name);
    };
    add(codings.br, "br");
    add(codings.zstd, "zstd");
    add(codings.gzip, "gzip");
    return text.empty() ? "off" : text;
}

// The lines of a table: "key = value".
using Lines = std::vector<std::string>;

void add(Lines& lines, std::string_view key, const std::string& value) {
    lines.push_back(std::string(key) + " = " + value);
}

// The value of a field as TOML has it; "" where it is the default.
struct FieldText {
    ServeOptions& options;
    ServeOptions& defaults;

    template <typename Value>
    std::optional<Value> changed(const server::Place<ServeOptions, Value>& place) {
        return std::visit(
            [&](auto of) {
                return of(options) == of(defaults) ? std::nullopt
                                                   : std::optional<Value>(of(options));
            },
            place);
    }

    std::string operator()(const NoField&) { return {}; }
    std::string operator()(const ServeFlag::Switch& field) {
        const auto value = changed(field.of);
        return !value ? "" : *value ? "true" : "false";
    }
    std::string operator()(const ServeFlag::Time& field) {
        const auto value = changed(field.of);
        return value ? string_text(format_duration(*value)) : "";
    }
    std::string operator()(const ServeFlag::Size& field) {
        const auto value = changed(field.of);
        return value ? string_text(format_bytes(*value)) : "";
    }
    std::string operator()(const ServeFlag::Count& field) {
        const auto value = changed(field.of);
        return value ? std::to_string(*value) : "";
    }
    std::string operator()(const ServeFlag::Choice& field) {
        const std::size_t chosen = field.get(options);
        return chosen == field.get(defaults) ? "" : string_text(field.names[chosen]);
    }
    std::string operator()(const ServeFlag::Text&) { return {}; }  // own_texts() has them
};

class Printer {
  public:
    explicit Printer(const ServeOptions& options) : options_(options) {}

    std::string print() {
        print_listening();
        print_table("server", lines_of(TableKind::server));
        print_table("server.file_cache", lines_of(TableKind::file_cache));
        print_tls();
        print_table("log", lines_of(TableKind::log));
        print_table("limits", lines_of(TableKind::limits));
        print_table("cgi", lines_of(TableKind::cgi));
        Lines mime;
        for (const MimeAddition& each : options_.mime_additions) {
            add(mime, key_text(each.extension), string_text(each.type));
        }
        print_table("mime", mime);
        print_site();
        for (const auto& [path, lines] : routes()) print_route(path, lines);
        for (const CacheControlRule& each : options_.cache_control) {
            // A path for all below it is two patterns of one value.
            if (each.pattern == "*" || has_cache_rule(each.pattern + "/**", each.value)) continue;
            print_route(path_of(each.pattern), {"cache_control = " + string_text(each.value)});
        }
        return std::move(text_);
    }

  private:
    void print_table(std::string_view name, const Lines& lines) {
        if (lines.empty()) return;
        text_.append(text_.empty() ? "[" : "\n[").append(name).append("]\n");
        for (const std::string& each : lines) text_ += each + "\n";
    }

    void print_route(const std::string& path, const Lines& lines) {
        Lines all{"path = " + string_text(path)};
        all.insert(all.end(), lines.begin(), lines.end());
        print_table("[site.route]", all);
    }

    bool has_cache_rule(const std::string& pattern, const std::string& value) const {
        return std::ranges::any_of(options_.cache_control, [&](const CacheControlRule& rule) {
            return rule.pattern == pattern && rule.value == value;
        });
    }

    // "/assets/**" is a path for all below it. "/assets/*", for what is right below it, would look
    // like one.
    static std::string path_of(const std::string& pattern) {
        const std::string above = pattern.substr(0, pattern.find_first_of("*?["));
        const std::string_view rest = std::string_view(pattern).substr(above.size());
        if (above.size() < 2 || !above.ends_with('/')) return pattern;
        if (rest == "**") return above.substr(0, above.size() - 1);
        return rest == "*" ? above + "?*" : pattern;
    }

    // The keys of a table that have a flag, where they are not as they are by default.
    Lines lines_of(TableKind kind) {
        Lines lines;
        for (const Key& key : keys()) {
            if (key.in != kind || key.flag.empty()) continue;
            std::string value = std::visit(FieldText{options_, defaults_}, flag_of(key).field);
            if (value.empty()) value = own_text(key);
            if (!value.empty()) add(lines, key.name, value);
        }
        return lines;
    }

    // The flags whose text has a form of its own.
    std::string own_text(const Key& key) const {
        const auto file = [](const std::optional<std::string>& path) {
            return path ? string_text(absolute(*path)) : std::string();
        };
        if (key.flag == "user") return options_.user ? string_text(*options_.user) : "";
        if (key.flag == "compress-cache") return file(options_.compress.folder);
        if (key.flag == "tls-client-ca") return file(options_.tls.client_ca);
        if (key.flag == "spa") return options_.spa_file ? string_text(*options_.spa_file) : "";
        if (key.flag == "cors")
            return options_.cors_origin ? string_text(*options_.cors_origin) : "";
        if (key.flag == "access-log" && key.in == TableKind::log) {
            return options_.access_log == "off" ? ""
                                                : string_text(file_or_word(options_.access_log));
        }
        if (key.flag == "compress") {
            const std::string codings = codings_text(options_.compress.codings);
            return codings == codings_text({true, true, true}) ? "" : string_text(codings);
        }
        return {};
    }

    void print_listening() {
        const Lines common = lines_of(TableKind::listen);
        bool is_first = true;
        const auto print = [&](const std::string& address, bool redirects) {
            Lines lines{"address = " + string_text(address)};
            if (redirects) lines.emplace_back("redirect_to_https = true");
            // They hold for all addresses.
            if (is_first) lines.insert(lines.end(), common.begin(), common.end());
            is_first = false;
            print_table("[listen]", lines);
        };
        for (const std::string& each : options_.listen) print(each, false);
        for (const std::string& each : options_.tls.https_redirect) print(each, true);
    }

    void print_tls() {
        print_table("tls", lines_of(TableKind::tls));
        for (const CertificateFiles& each : options_.tls.certificates) {
            print_table("[tls.certificate]", {"cert = " + string_text(absolute(each.certificate)),
                                              "key = " + string_text(absolute(each.key))});
        }
    }

    void print_site() {
        Lines lines;
        add(lines, "root", string_text(absolute(options_.root)));
        if (options_.index != defaults_.index) add(lines, "index", list_of(options_.index));
        const Lines plain = lines_of(TableKind::site);
        lines.insert(lines.end(), plain.begin(), plain.end());
        for (const AddedHeader& each : options_.added_headers) {
            add(lines, "response.set." + key_text(each.name), string_text(each.value));
        }
        for (const ErrorPage& each : options_.error_pages) {
            add(lines, "error_pages." + std::to_string(each.code), string_text(each.file));
        }
        if (!options_.basic_auth.empty()) {
            add(lines, "auth", auth_text(options_.basic_auth));
        }
        for (const CacheControlRule& each : options_.cache_control) {
            if (each.pattern == "*") add(lines, "cache_control", string_text(each.value));
        }
        const Lines rules = rules_of("");
        lines.insert(lines.end(), rules.begin(), rules.end());
        print_table("[site]", lines);
    }

    // Passwords are not printed: the name of a table to write them into is.
    static std::string auth_text(const std::vector<std::string>& sources) {
        const std::string& first = sources.front();
        if (first == "off") return string_text("off");
        if (first.contains(':')) return "{ users = \"staff\" }  # write [users.staff] NAME = \"…\"";
        return "{ users = " + string_text(absolute(first)) + " }";
    }

    // The rules of one path.
    Lines rules_of(const std::string& prefix) const {
        const PathOptions& paths = options_.paths;
        Lines lines;
        const auto each_of = [&](const auto& rules, auto print) {
            for (const auto& rule : rules) {
                if (rule.prefix == prefix) print(rule);
            }
        };
        each_of(paths.answers, [&](const PathAnswer& rule) { add_answer(lines, rule); });
        each_of(paths.auth,
                [&](const PathAuth& rule) { add(lines, "auth", auth_text({rule.source})); });
        each_of(paths.cors, [&](const PathCors& rule) {
            add(lines, "cors", string_text(rule.origin.value_or("off")));
        });
        each_of(paths.rates, [&](const PathRate& rule) {
            add(lines, "rate",
                !rule.limit ? string_text("off")
                            : "{ limit = \"" + std::to_string(rule.limit->per_minute) +
                                  "/min\", burst = " + std::to_string(rule.limit->burst) + " }");
        });
        each_of(paths.headers, [&](const PathHeader& rule) {
            add(lines, "response.set." + key_text(rule.field.name), string_text(rule.field.value));
        });
        each_of(paths.error_pages, [&](const PathErrorPage& rule) {
            add(lines, "error_pages." + std::to_string(rule.page.code),
                string_text(rule.page.file));
        });
        each_of(paths.compress, [&](const PathCompress& rule) {
            add(lines, "compress", string_text(codings_text(rule.codings)));
        });
        each_of(paths.logs, [&](const PathLog& rule) {
            add(lines, "log", string_text(file_or_word(rule.file)));
        });
        return lines;
    }

    static void add_answer(Lines& lines, const PathAnswer& rule) {
        if (rule.is_off()) return;
        if (!rule.target.empty()) {
            add(lines, "redirect", string_text(rule.target + (rule.keeps_rest ? "{rest}" : "")));
            if (rule.status != 308) add(lines, "status", std::to_string(rule.status));
            return;
        }
        if (!rule.text.empty()) add(lines, "respond", string_text(rule.text));
        add(lines, "status", std::to_string(rule.status));
    }

    std::map<std::string, Lines> routes() const {
        std::map<std::string, Lines> all;
        const auto name = [&](const auto& rules) {
            for (const auto& rule : rules) {
                if (!rule.prefix.empty()) all[rule.prefix];
            }
        };
        const PathOptions& paths = options_.paths;
        name(paths.answers);
        name(paths.auth);
        name(paths.cors);
        name(paths.rates);
        name(paths.headers);
        name(paths.error_pages);
        name(paths.compress);
        name(paths.logs);
        for (auto& [prefix, lines] : all) lines = rules_of(prefix);
        for (const CgiFolder& each : options_.cgi.folders) {
            add(all[each.prefix], "cgi", string_text(absolute(each.folder)));
        }
        for (const FastCgiRoute& each : options_.cgi.fastcgi) {
            add(all[each.pattern], "fastcgi", string_text(each.address.to_string()));
        }
        return all;
    }

    ServeOptions options_;
    ServeOptions defaults_;
    std::string text_;
};

}  // namespace

std::string print_config(const ServeOptions& options) {
    return Printer(options).print();
}

}  // namespace tiderace::server::config
