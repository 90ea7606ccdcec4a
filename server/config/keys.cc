#include "server/config/keys.h"

#include <algorithm>
#include <array>
#include <iterator>
#include <utility>

#include "server/command_line/apply_flag.h"
#include "server/command_line/suggest.h"

namespace tiderace::server::config {
namespace {

using enum TableKind;

constexpr std::string_view no_proxy = "proxying is not built yet";
constexpr std::string_view site_only = "set it in [[site]]: a route cannot change it yet";

constexpr std::array all_keys{
    // The top; other names there are tables.
    Key{top, "server"},
    Key{top, "listen"},
    Key{top, "tls"},
    Key{top, "log"},
    Key{top, "limits"},
    Key{top, "cgi"},
    Key{top, "mime"},
    Key{top, "users"},
    Key{top, "preset"},
    Key{top, "site"},
    Key{top, "include"},
    Key{top, "upstream", {}, no_proxy},
    Key{top, "cache", {}, no_proxy},
    Key{top, "acme", {}, "certificates are not fetched yet: name one in [[tls.certificate]]"},
    Key{top, "metrics"},
    Key{top, "admin"},

    Key{server, "threads", "threads"},
    Key{server, "engine", "engine"},
    Key{server, "accept", "accept"},
    Key{server, "user", "user"},
    Key{server, "connections_max", "max-connections"},
    Key{server, "drain_timeout", "drain-timeout"},
    Key{server, "send_buffer_max", "send-buffer-max"},
    Key{server, "compress_cache", "compress-cache", {}, true},
    Key{server, "name_field", "no-server-header"},
    Key{server, "about", "about"},
    Key{server, "trusted_proxies"},
    Key{server, "watch"},
    Key{server, "file_cache"},

    Key{file_cache, "size", "cache"},
    Key{file_cache, "file_max", "cache-file-max"},
    Key{file_cache, "check", "cache-check"},
    Key{file_cache, "small_copy_max", "small-copy-max"},
    Key{file_cache, "sendfile_min", "sendfile-min"},

    Key{listen, "address"},
    Key{listen, "redirect_to_https"},
    Key{listen, "http2", "http2"},
    Key{listen, "backlog", "backlog"},

    Key{tls, "certificate"},
    Key{tls, "folder"},
    Key{tls, "self_signed", "tls-self-signed"},
    Key{tls, "public_port", "https-port"},
    Key{tls, "client_auth", "tls-client-auth"},
    Key{tls, "client_ca", "tls-client-ca", {}, true},

    Key{certificate, "cert"},
    Key{certificate, "key"},

    Key{log, "access", "access-log", {}, true},
    Key{log, "format", "log-format"},
    Key{log, "level", "log-level"},
    Key{log, "flush", "log-flush"},
    Key{log, "rotate", "log-rotate"},
    Key{log, "keep", "log-keep"},
    Key{log, "fields"},
    Key{log, "redact_query"},
    Key{log, "skip"},
    Key{log, "slow"},

    Key{skip, "status"},
    Key{skip, "sample"},

    Key{limits, "header_timeout", "header-timeout"},
    Key{limits, "body_timeout", "body-timeout"},
    Key{limits, "write_timeout", "write-timeout"},
    Key{limits, "idle_timeout", "idle-timeout"},
    Key{limits, "half_closed_timeout", "half-closed-timeout"},
    Key{limits, "receive_rate_min", "min-receive-rate"},
    Key{limits, "send_rate_min", "min-send-rate"},
    Key{limits, "line_max", "max-line"},
    Key{limits, "head_max", "max-head"},
    Key{limits, "fields_max", "max-fields"},
    Key{limits, "body_max", "max-body"},

    Key{cgi, "timeout", "cgi-timeout"},
    Key{cgi, "programs_max", "cgi-max"},
    Key{cgi, "memory_max", "cgi-memory"},

    Key{admin, "socket"},
    Key{admin, "mode"},

    Key{metrics, "listen"},
    Key{metrics, "remote"},

    Key{site, "hosts"},
    Key{site, "default"},
    Key{site, "route"},
    Key{site, "use"},
    Key{site, "root"},
    Key{site, "index"},
    Key{site, "listing", "listing"},
    Key{site, "fallback", "spa"},
    Key{site, "clean_urls", "clean-urls"},
    Key{site, "precompressed", "no-precompressed"},
    Key{site, "hidden", "hidden"},
    Key{site, "symlinks", "symlinks"},
    Key{site, "hsts", "hsts"},
    Key{site, "compress", "compress"},
    Key{site, "compress_min", "compress-min"},
    Key{site, "compress_max", "compress-max"},
    Key{site, "cache_control", "cache-control"},
    Key{site, "cors", "cors"},
    Key{site, "log", "access-log", {}, true},
    Key{site, "slow"},
    Key{site, "server_timing"},
    Key{site, "error_pages"},
    Key{site, "response"},
    Key{site, "auth"},
    Key{site, "rate"},
    Key{site, "redirect"},
    Key{site, "respond"},
    Key{site, "deny"},
    Key{site, "status"},
    Key{site, "canonical_host"},
    Key{site, "try"},
    Key{site, "body_max"},
    Key{site, "head_timeout"},
    Key{site, "proxy", {}, no_proxy},

    Key{route, "path"},
    Key{route, "method"},
    Key{route, "header"},
    Key{route, "query"},
    Key{route, "remote"},
    Key{route, "scheme"},
    Key{route, "priority"},
    Key{route, "use"},
    Key{route, "redirect"},
    Key{route, "respond"},
    Key{route, "deny"},
    Key{route, "status"},
    Key{route, "fastcgi"},
    Key{route, "cgi"},
    Key{route, "metrics"},
    Key{route, "root"},
    Key{route, "index"},
    Key{route, "listing"},
    Key{route, "fallback"},
    Key{route, "clean_urls"},
    Key{route, "hidden"},
    Key{route, "strip"},
    Key{route, "prefix"},
    Key{route, "rewrite"},
    Key{route, "try"},
    Key{route, "body_max"},
    Key{route, "head_timeout"},
    Key{route, "compress"},
    Key{route, "cache_control"},
    Key{route, "cors"},
    Key{route, "log"},
    Key{route, "slow"},
    Key{route, "server_timing"},
    Key{route, "error_pages"},
    Key{route, "response"},
    Key{route, "auth"},
    Key{route, "rate"},
    Key{route, "precompressed", {}, site_only},
    Key{route, "symlinks", {}, site_only},
    Key{route, "hsts", {}, "set it in [[site]]: browsers keep it for the host"},
    Key{route, "proxy", {}, no_proxy},

    Key{response, "set"},
    Key{response, "remove"},

    Key{rate, "limit"},
    Key{rate, "burst"},
    Key{rate, "by"},

    Key{auth, "users"},
};

// What the same thing is called elsewhere.
struct OtherWord {
    std::string_view word;
    std::string_view means;
};
constexpr std::array other_words{
    OtherWord{"server_name", "hosts"},
    OtherWord{"host", "hosts"},
    OtherWord{"domain", "hosts"},
    OtherWord{"domains", "hosts"},
    OtherWord{"server", "site"},
    OtherWord{"location", "route"},
    OtherWord{"handle", "route"},
    OtherWord{"alias", "root"},
    OtherWord{"document_root", "root"},
    OtherWord{"file_server", "root"},
    OtherWord{"try_files", "try"},
    OtherWord{"autoindex", "listing"},
    OtherWord{"browse", "listing"},
    OtherWord{"proxy_pass", "proxy"},
    OtherWord{"reverse_proxy", "proxy"},
    OtherWord{"fastcgi_pass", "fastcgi"},
    OtherWord{"php_fastcgi", "fastcgi"},
    OtherWord{"add_header", "response"},
    OtherWord{"header", "response"},
    OtherWord{"headers", "response"},
    OtherWord{"return", "redirect"},
    OtherWord{"redir", "redirect"},
    OtherWord{"error_page", "error_pages"},
    OtherWord{"handle_errors", "error_pages"},
    OtherWord{"auth_basic", "auth"},
    OtherWord{"basic_auth", "auth"},
    OtherWord{"basicauth", "auth"},
    OtherWord{"allow", "remote"},
    OtherWord{"limit_req", "rate"},
    OtherWord{"rate_limit", "rate"},
    OtherWord{"gzip", "compress"},
    OtherWord{"encode", "compress"},
    OtherWord{"access_log", "log"},
    OtherWord{"expires", "cache_control"},
    OtherWord{"client_max_body_size", "body_max"},
    OtherWord{"worker_processes", "threads"},
    OtherWord{"worker_connections", "connections_max"},
    OtherWord{"ssl_certificate", "cert"},
    OtherWord{"ssl_certificate_key", "key"},
    OtherWord{"tls", "certificate"},
    OtherWord{"port", "address"},
    OtherWord{"listen", "address"},
    OtherWord{"set_real_ip_from", "trusted_proxies"},
};

const ServeFlag& flag_called(std::string_view name) {
    const auto all = serve_flags();
    return *std::ranges::find_if(all,
                                 [&](const ServeFlag& flag) { return flag.text.name == name; });
}

// The value as a flag would have it; nullopt: it has another type.
std::optional<std::string> flag_text_of(const ServeFlag& flag, const Value& value) {
    if (const auto* const text = value.get<std::string>()) return *text;
    const bool is_count = std::holds_alternative<ServeFlag::Count>(flag.field);
    const auto* const number = value.get<std::int64_t>();
    return is_count && number != nullptr ? std::optional(std::to_string(*number)) : std::nullopt;
}

std::string expected_type(const ServeFlag& flag) {
    if (std::holds_alternative<ServeFlag::Switch>(flag.field)) return "true or false";
    if (std::holds_alternative<ServeFlag::Count>(flag.field)) return "a whole number";
    if (std::holds_alternative<ServeFlag::Time>(flag.field)) return "a time such as \"10s\"";
    if (std::holds_alternative<ServeFlag::Size>(flag.field)) return "a size such as \"64KiB\"";
    return "a string";
}

void refuse_type(std::string_view name, const std::string& expected, const Value& value,
                 Problems& problems) {
    problems.error(value.at, std::string(name) + " expects " + expected + ", and this is " +
                                 std::string(value.noun()));
}

// The tables in which a key of this name may stand.
std::string tables_of(std::string_view name) {
    std::string tables;
    for (const Key& key : all_keys) {
        if (key.name != name || !key.later.empty()) continue;
        if (!tables.empty()) tables += " or ";
        tables += key.in == top ? "at " : "in ";
        tables += title_of(key.in);
    }
    return tables;
}

}  // namespace

std::string_view title_of(TableKind kind) {
    static constexpr std::array<std::string_view, 17> titles{"the top of the file",
                                                             "[server]",
                                                             "[server.file_cache]",
                                                             "[[listen]]",
                                                             "[tls]",
                                                             "[[tls.certificate]]",
                                                             "[log]",
                                                             "skip",
                                                             "[limits]",
                                                             "[cgi]",
                                                             "[admin]",
                                                             "[metrics]",
                                                             "[[site]]",
                                                             "[[site.route]]",
                                                             "response",
                                                             "rate",
                                                             "auth"};
    return titles[static_cast<std::size_t>(kind)];
}

std::span<const Key> keys() {
    return all_keys;
}

const Key* find_key(TableKind kind, std::string_view name) {
    const auto found = std::ranges::find_if(
        all_keys, [&](const Key& key) { return key.in == kind && key.name == name; });
    return found != all_keys.end() ? &*found : nullptr;
}

bool is_setting(std::string_view name) {
    static constexpr std::string_view others[] = {"hosts",  "default", "route",   "use",
                                                  "path",   "method",  "header",  "query",
                                                  "remote", "scheme",  "priority"};
    return std::ranges::find(others, name) == std::end(others);
}

const ServeFlag& flag_of(const Key& key) {
    return flag_called(key.flag);
}

bool read_key(const Key& key, const Value& value, ServeOptions& options, const Reading& reading) {
    const ServeFlag& flag = flag_of(key);
    if (const auto* const field = std::get_if<ServeFlag::Switch>(&flag.field)) {
        const bool* const truth = value.get<bool>();
        if (truth == nullptr) {
            refuse_type(key.name, expected_type(flag), value, reading.problems);
            return false;
        }
        std::visit([&](auto of) { of(options) = *truth; }, field->of);
        return true;
    }
    auto text = flag_text_of(flag, value);
    if (!text) {
        refuse_type(key.name, expected_type(flag), value, reading.problems);
        return false;
    }
    if (key.names_file && *text != "-" && *text != "off") text = reading.path_of(*text, value.at);
    return read_flag_text(key.flag, *text, value.at, options, reading.problems, key.name);
}

bool read_flag_text(std::string_view flag, std::string_view text, Place at, ServeOptions& options,
                    Problems& problems, std::string_view name) {
    const Applied applied = apply_flag(flag_called(flag), text, options);
    if (!applied) {
        problems.error(at,
                       name.empty() ? applied.error() : std::string(name) + ": " + applied.error());
    }
    return applied.has_value();
}

void refuse_key(TableKind kind, const Member& member, Problems& problems) {
    // With so many faults the search for a similar name is left out.
    if (problems.errors() >= Problems::problems_max) return problems.error(member.at, "");
    const std::string_view name = member.key;
    std::string what = std::string(title_of(kind)) + " has no key \"" + std::string(name) + "\"";
    std::string advice;
    std::string with_underscores(name);
    std::ranges::replace(with_underscores, '-', '_');
    std::vector<std::string_view> here;
    for (const Key& key : all_keys) {
        if (key.in == kind && key.later.empty()) here.push_back(key.name);
    }
    const auto other = std::ranges::find(other_words, with_underscores, &OtherWord::word);
    if (const Key* const meant = find_key(kind, with_underscores)) {
        advice = "did you mean \"" + std::string(meant->name) + "\"?";
    } else if (other != other_words.end() && find_key(kind, other->means) != nullptr) {
        advice = "here it is called \"" + std::string(other->means) + "\"";
    } else if (other != other_words.end() && !tables_of(other->means).empty()) {
        advice = "it is called \"" + std::string(other->means) + "\", and belongs " +
                 tables_of(other->means);
    } else if (const std::string tables = tables_of(name); !tables.empty()) {
        advice = "\"" + std::string(name) + "\" belongs " + tables;
        if (find_key(top, name) != nullptr) advice += ", above the first table";
    } else if (const std::string_view near = nearest_spelling(with_underscores, here);
               !near.empty()) {
        advice = "did you mean \"" + std::string(near) + "\"?";
    }
    problems.error(member.at, std::move(what), std::move(advice));
}

std::string in_words_of_the_file(std::string sentence) {
    // A longer flag stands before its beginning.
    static constexpr std::pair<std::string_view, std::string_view> words[] = {
        {"--tls-self-signed", "tls.self_signed"},
        {"--tls-client-auth", "tls.client_auth"},
        {"--tls-client-ca", "tls.client_ca"},
        {"--https-port", "tls.public_port"},
        {"--https-redirect", "redirect_to_https"},
        {"--tls CERT,KEY", "[[tls.certificate]]"},
        {"--tls", "[[tls.certificate]]"},
        {"--listen", "[[listen]]"},
        {"add --user", "set server.user to"},
        {"--user", "server.user"},
        {"--threads", "server.threads"},
        {"--max-connections", "server.connections_max"},
        {"--spa=app.html", "fallback = \"app.html\""},
        {"--spa", "fallback"},
        {"--hidden", "hidden = true"},
        {"--symlinks", "symlinks"},
        {"--error-page", "error_pages"},
        {"--path-error-page", "error_pages"},
        {"--clean-urls", "clean_urls"},
        {"--fastcgi", "fastcgi"},
        {"--cgi PATH=DIR", "cgi"},
        {"--cgi", "cgi"}};
    for (const auto& [flag, key] : words) {
        for (std::size_t at = sentence.find(flag); at != sentence.npos; at = sentence.find(flag)) {
            sentence.replace(at, flag.size(), key);
        }
    }
    return sentence;
}

}  // namespace tiderace::server::config
