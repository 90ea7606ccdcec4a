#include "server/config/print_config.h"

#include <algorithm>
#include <filesystem>
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
        for (const Route& route : options_.routes) {
            const Lines lines = lines_of(route);
            if (!route.match.path.empty()) print_route(route.match.path, lines);
        }
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
        if (options_.index != defaults_.index) add(lines, "index", list_text(options_.index));
        const Lines plain = lines_of(TableKind::site);
        lines.insert(lines.end(), plain.begin(), plain.end());
        for (const AddedHeader& each : options_.added_headers) add_header(lines, each);
        for (const ErrorPage& each : options_.error_pages) {
            add(lines, "error_pages." + std::to_string(each.code), string_text(each.file));
        }
        if (!options_.basic_auth.empty()) {
            add(lines, "auth", auth_text(options_.basic_auth));
        }
        for (const CacheControlRule& each : options_.cache_control) {
            if (each.pattern == "*") add(lines, "cache_control", string_text(each.value));
        }
        std::vector<const Route*> for_all{&options_.whole};
        for (const Route& route : options_.routes) {
            if (route.match.path.empty()) for_all.push_back(&route);
        }
        for (const Route* const route : for_all) {
            const Lines own = lines_of(*route);
            lines.insert(lines.end(), own.begin(), own.end());
        }
        print_table("[site]", lines);
    }

    // Passwords are not printed: the name of a table to write them into is.
    static std::string auth_text(const std::vector<std::string>& sources) {
        const std::string& first = sources.front();
        if (first.contains(':')) return "{ users = \"staff\" }  # write [users.staff] NAME = \"…\"";
        return "{ users = " + string_text(absolute(first)) + " }";
    }

    // A route of flags: a path and a priority, no other condition.
    static Lines lines_of(const Route& route) {
        Lines lines;
        if (route.match.priority != 0) {
            add(lines, "priority", std::to_string(route.match.priority));
        }
        if (route.reply) add_reply(lines, *route.reply);
        if (!route.cgi.empty()) add(lines, "cgi", string_text(absolute(route.cgi)));
        if (route.fastcgi) add(lines, "fastcgi", string_text(route.fastcgi->to_string()));
        if (route.auth) {
            add(lines, "auth", route.auth->empty() ? string_text("off") : auth_text(*route.auth));
        }
        if (route.cors) add(lines, "cors", string_text(*route.cors));
        if (route.rate) {
            const auto& limit = route.rate->limit;
            add(lines, "rate",
                !limit ? string_text("off")
                       : "{ limit = \"" + std::to_string(limit->per_minute) +
                             "/min\", burst = " + std::to_string(limit->burst) + " }");
        }
        for (const AddedHeader& each : route.headers) add_header(lines, each);
        for (const ErrorPage& each : route.error_pages) {
            add(lines, "error_pages." + std::to_string(each.code), string_text(each.file));
        }
        if (route.compress) add(lines, "compress", string_text(codings_text(*route.compress)));
        if (route.log) add(lines, "log", string_text(file_or_word(*route.log)));
        if (route.cache_control) add(lines, "cache_control", string_text(*route.cache_control));
        return lines;
    }

    static void add_header(Lines& lines, const AddedHeader& header) {
        add(lines, "response.set." + key_text(header.name), string_text(header.value.value_or("")));
    }

    static void add_reply(Lines& lines, const FixedReply& reply) {
        if (reply.is_off()) return;
        if (!reply.target.empty()) {
            add(lines, "redirect", string_text(reply.target));
            if (reply.status != 308) add(lines, "status", std::to_string(reply.status));
            return;
        }
        if (!reply.text.empty()) add(lines, "respond", string_text(reply.text));
        add(lines, "status", std::to_string(reply.status));
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
