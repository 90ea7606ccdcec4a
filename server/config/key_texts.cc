#include "server/config/key_texts.h"

#include <algorithm>
#include <array>
#include <utility>
#include <variant>

#include "server/command_line/apply_flag.h"
#include "server/config/toml_text.h"

namespace tiderace::server::config {
namespace {

using enum TableKind;

constexpr std::string_view truth = R"("type": "boolean")";
constexpr std::string_view text = R"("type": "string")";
constexpr std::string_view table_of_texts =
    R"("type": "object", "additionalProperties": {"type": "string"})";
constexpr std::string_view table_of_conditions =
    R"("type": "object", "additionalProperties": {"type": ["string", "boolean"]})";
constexpr std::string_view list_of_texts = R"("type": "array", "items": {"type": "string"})";
constexpr std::string_view text_or_list =
    R"("type": ["string", "array"], "items": {"type": "string"}, "minItems": 1)";

constexpr std::array texts{
    KeyText{top, "server", "what holds for the whole program", R"("$ref": "#/$defs/server")"},
    KeyText{top, "listen", "the addresses of the server",
            R"("type": "array", "items": {"$ref": "#/$defs/listen"})"},
    KeyText{top, "tls", "certificates, and who must have one", R"("$ref": "#/$defs/tls")"},
    KeyText{top, "log", "the access log and the error log", R"("$ref": "#/$defs/log")"},
    KeyText{top, "limits", "what one request or client may take", R"("$ref": "#/$defs/limits")"},
    KeyText{top, "cgi", "limits of programs that answer", R"("$ref": "#/$defs/cgi")"},
    KeyText{top,
            "admin",
            "the socket of `tiderace reload`, `tiderace status` and `tiderace top`",
            R"("$ref": "#/$defs/admin")",
            {},
            {},
            "admin"},
    KeyText{top, "metrics", "counts requests and connections, for Prometheus",
            R"("$ref": "#/$defs/metrics")", R"({"listen": "127.0.0.1:9100"})", "stub_status",
            "metrics"},
    KeyText{top, "mime", "types of file extensions, beside those that are known", table_of_texts,
            R"({"glb": "model/gltf-binary"})", "types"},
    KeyText{top, "users", "names and passwords, or the names of password files, for `auth`",
            R"("type": "object", "additionalProperties": {"type": ["string", "object"], )"
            R"("additionalProperties": {"type": "string"}})",
            R"({"staff": {"ann": "only an example"}})"},
    KeyText{top,
            "preset",
            "settings with a name, which sites and routes use",
            R"("type": "object", "additionalProperties": {"$ref": "#/$defs/preset"})",
            R"({"plain": {"compress": "off"}})",
            {},
            "import"},
    KeyText{top,
            "site",
            "the sites, each for its hosts",
            R"("type": "array", "items": {"$ref": "#/$defs/site"})",
            {},
            "server"},
    KeyText{top, "include", "more files to read, relative to this one; * ? [ are patterns",
            list_of_texts, R"(["sites/*.toml"])", "include", "import"},

    KeyText{server, "threads", {}, {}, "2", "worker_processes"},
    KeyText{server, "engine", {}, {}, R"("epoll")", "use"},
    KeyText{server, "user", {}, {}, R"("www-data")", "user"},
    KeyText{server, "connections_max", {}, {}, "10000", "worker_connections"},
    KeyText{server, "drain_timeout", {}, {}, {}, "worker_shutdown_timeout", "grace_period"},
    KeyText{server,
            "compress_cache",
            "the folder that keeps compressed files over a restart",
            {},
            R"("/var/cache/tiderace")"},
    KeyText{server, "name_field", "whether answers have the Server field", truth, "false",
            "server_tokens"},
    KeyText{
        server, "trusted_proxies",
        "the networks of proxies whose X-Forwarded-For and X-Forwarded-Proto are believed; unix: "
        "whatever comes over a Unix socket",
        list_of_texts, R"(["10.0.0.0/8", "::1"])", "set_real_ip_from", "trusted_proxies"},
    KeyText{server, "file_cache", "how files are kept in memory, per loop",
            R"("$ref": "#/$defs/file_cache")", R"({"size": "64MiB"})", "open_file_cache"},
    KeyText{file_cache, "file_max", {}, {}, R"("1MiB")"},
    KeyText{file_cache, "check", {}, {}, {}, "open_file_cache_valid"},
    KeyText{file_cache, "sendfile_min", {}, {}, R"("128KiB")", "sendfile"},

    KeyText{server, "watch", "read the file and what it includes again when they change", truth,
            "true", "", "run --watch"},
    KeyText{listen, "address", "HOST:PORT, :PORT for all addresses, or unix:PATH", text,
            R"(":8080")", "listen", "bind"},
    KeyText{listen,
            "redirect_to_https",
            "answers only with 308 to the same address over https",
            truth,
            "true",
            {},
            "auto_https"},
    KeyText{listen, "http2", {}, {}, {}, "http2", "protocols"},
    KeyText{listen, "backlog", {}, {}, {}, "backlog"},

    KeyText{tls,
            "certificate",
            "the certificates; clients get the one that has their host",
            R"("type": "array", "items": {"$ref": "#/$defs/certificate"})",
            {},
            {},
            "tls"},
    KeyText{tls,
            "folder",
            "a folder of certificates: NAME.pem with NAME.key, or NAME/fullchain.pem with "
            "NAME/privkey.pem",
            text,
            R"("certs")",
            {},
            "load_folders"},
    KeyText{tls, "self_signed", {}, {}, "true", {}, "internal"},
    KeyText{tls, "public_port", {}, {}, "443", {}, "https_port"},
    KeyText{tls, "client_auth", {}, {}, {}, "ssl_verify_client", "client_auth"},
    KeyText{tls, "client_ca", {}, {}, R"("ca.pem")", "ssl_client_certificate", "trust_pool"},
    KeyText{certificate, "cert", "a PEM file: the certificate and those that lead to its authority",
            text, R"("cert.pem")", "ssl_certificate", "tls"},
    KeyText{certificate, "key", "a PEM file: its private key", text, R"("key.pem")",
            "ssl_certificate_key", "tls"},

    KeyText{log,
            "access",
            "the access log, a line per request: a file, - for standard output, or "
            "off",
            {},
            R"("access.log")",
            "access_log",
            "log"},
    KeyText{log, "format", {}, {}, R"("json")", "log_format", "format"},
    KeyText{log, "level", {}, {}, R"("warning")", "error_log", "level"},
    KeyText{log, "flush", {}, {}, {}, "flush"},
    KeyText{log, "rotate", {}, {}, R"("64MiB")", {}, "roll_size"},
    KeyText{log, "keep", {}, {}, "5", {}, "roll_keep"},
    KeyText{log, "fields", "the members of a line, with format = \"json\"", list_of_texts,
            R"(["time", "site", "path", "status", "duration_us"])", "log_format", "fields"},
    KeyText{log,
            "redact_query",
            "leaves the values out of queries, and keeps their names",
            truth,
            "true",
            {},
            "query"},
    KeyText{log, "skip", "answers that are not logged, or only a part of them",
            R"("$ref": "#/$defs/skip")", R"({"status": "2xx", "sample": 0.01})", "access_log",
            "log_skip"},
    KeyText{log, "slow", "requests that take longer are a warning each in the server's log", text,
            R"("2s")"},
    KeyText{skip, "status", "their statuses, by the hundred", text_or_list, R"(["2xx", "3xx"])",
            "map"},
    KeyText{skip, "sample",
            "the part of them that is logged all the same: 0.01 is one of a hundred",
            R"("type": "number", "minimum": 0, "maximum": 1)", "0.01", "split_clients", "sampling"},

    KeyText{limits, "header_timeout", {}, {}, {}, "client_header_timeout", "read_header"},
    KeyText{limits, "body_timeout", {}, {}, {}, "client_body_timeout", "read_body"},
    KeyText{limits, "write_timeout", {}, {}, {}, "send_timeout", "write"},
    KeyText{limits, "idle_timeout", {}, {}, {}, "keepalive_timeout", "idle"},
    KeyText{limits, "receive_rate_min", {}, {}, R"("1KiB")"},
    KeyText{limits, "send_rate_min", {}, {}, R"("1KiB")"},
    KeyText{limits, "line_max", {}, {}, {}, "large_client_header_buffers"},
    KeyText{limits, "head_max", {}, {}, {}, "large_client_header_buffers", "max_header_size"},
    KeyText{limits, "body_max", {}, {}, {}, "client_max_body_size", "request_body"},

    KeyText{cgi, "timeout", {}, {}, {}, "fastcgi_read_timeout", "read_timeout"},

    KeyText{admin,
            "socket",
            "the file of the Unix socket",
            text,
            R"("/run/tiderace.sock")",
            {},
            "admin"},
    KeyText{admin, "mode",
            "the permissions of that file, 0600 without it: who may connect may reload",
            R"x("type": "string", "pattern": "^(0?[0-7]{3}|.*\\$\\{.*)$")x", R"("0660")"},

    KeyText{metrics, "listen", "the address of the page /metrics: of no site, and in clear text",
            text, R"("127.0.0.1:9100")", "stub_status", "metrics"},
    KeyText{metrics, "remote",
            "networks that may read the page: needed where others than this machine can reach it",
            text_or_list, R"(["10.0.0.0/8"])", "allow", "remote_ip"},

    KeyText{site, "hosts", "the hosts of the site: names, or *.NAME for all below it",
            list_of_texts, R"(["example.org", "*.example.org"])", "server_name", "host"},
    KeyText{site, "default", "whether the site answers for all other hosts", truth, "true",
            "default_server"},
    KeyText{site, "route", "rules of its paths; the most specific one wins",
            R"("type": "array", "items": {"$ref": "#/$defs/route"})",
            R"([{"path": "/old", "redirect": "/new{rest}"}])", "location", "handle"},
    KeyText{site,
            "use",
            "presets, in their order; what is said here stands above them",
            list_of_texts,
            R"(["plain"])",
            {},
            "import"},
    KeyText{site, "root", "the folder of the files, relative to this file", text, R"("www")",
            "root", "root"},
    KeyText{site, "index", "files that stand for their folder; [] is none", list_of_texts,
            R"(["index.html"])", "index", "index"},
    KeyText{site, "listing", {}, {}, {}, "autoindex", "browse"},
    KeyText{site,
            "fallback",
            "the file that answers where nothing is found",
            {},
            R"("index.html")",
            "try_files",
            "try_files"},
    KeyText{site, "clean_urls", {}, {}, {}, "try_files", "try_files"},
    KeyText{site,
            "precompressed",
            "whether .br, .zst and .gz siblings of files are sent",
            {},
            "false",
            "gzip_static",
            "precompressed"},
    KeyText{site, "symlinks", {}, {}, {}, "disable_symlinks"},
    KeyText{site,
            "hsts",
            "how long browsers use https only; needs a certificate they trust",
            {},
            R"("365d")"},
    KeyText{site, "compress", {}, {}, R"("br,gzip")", "gzip", "encode"},
    KeyText{site, "compress_min", {}, {}, {}, "gzip_min_length", "minimum_length"},
    KeyText{site,
            "cache_control",
            "the Cache-Control field of answers",
            {},
            R"("max-age=3600")",
            "expires"},
    KeyText{site,
            "cors",
            "the other site whose scripts may read; \"*\" for all, \"off\" for none",
            {},
            R"("https://app.example.org")"},
    KeyText{site,
            "log",
            "the access log of these requests: a file, \"-\", or \"off\"",
            {},
            R"("site.log")",
            "access_log",
            "log"},
    KeyText{site, "slow", "requests that take longer are a warning each; \"off\" for none", text,
            R"("500ms")"},
    KeyText{site, "server_timing",
            "networks whose clients get the time of a request as Server-Timing; \"off\" for none",
            text_or_list, R"(["10.0.0.0/8"])"},
    KeyText{site, "error_pages", "pages of errors: files in the root, by status",
            R"("type": "object", "patternProperties": {"^[45][0-9][0-9]$": {"type": "string"}}, )"
            R"("additionalProperties": false)",
            R"({"404": "404.html"})", "error_page", "handle_errors"},
    KeyText{site, "response", "fields of answers", R"("$ref": "#/$defs/response")",
            R"({"set": {"X-Frame-Options": "DENY"}})", "add_header", "header"},
    KeyText{site, "auth", "who may enter; \"off\" opens a route of a site that has it",
            R"("anyOf": [{"const": "off"}, {"$ref": "#/$defs/auth"}])", R"({"users": "staff"})",
            "auth_basic", "basic_auth"},
    KeyText{site, "rate", "how many requests of one client are answered; more get a 429",
            R"("anyOf": [{"const": "off"}, {"$ref": "#/$defs/rate"}])",
            R"({"limit": "100/min", "burst": 20})", "limit_req"},
    KeyText{site, "redirect",
            "where it leads: 308, or the status beside it; {rest} is what "
            "follows the path",
            R"x("type": "string", "pattern": "^(/|https?://|.*\\$\\{)")x",
            R"("https://www.example.org{rest}")", "return", "redir"},
    KeyText{site, "respond", "a text that answers: 200, or the status beside it", text,
            R"("fine\n")", "return", "respond"},
    KeyText{site, "deny", "answers 404, or the status that is given",
            R"("anyOf": [{"type": "boolean"}, {"type": "integer", "minimum": 400, )"
            R"("maximum": 499}])",
            "403", "deny", "abort"},
    KeyText{site, "status", "the status of `redirect` and `respond`; alone it answers",
            R"("type": "integer", "minimum": 200, "maximum": 599)", "410", "return", "error"},

    KeyText{route, "path",
            "where it holds: \"/api\" for all below it, \"=/api\" for that alone, \"~\" a regular "
            "expression",
            text_or_list, R"("/api")", "location", "handle"},
    KeyText{route, "method", "methods that it holds for; GET is HEAD, too", text_or_list,
            R"(["POST", "PUT"])", "limit_except", "method"},
    KeyText{route,
            "header",
            "fields that a request must have: a value with * and ?, true for any, false for none",
            table_of_conditions,
            R"({"X-Debug": true})",
            {},
            "header"},
    KeyText{route,
            "query",
            "names of the query: a value with * and ?, true for any, false for none",
            table_of_conditions,
            R"({"v": "1"})",
            {},
            "query"},
    KeyText{route, "remote", "networks of the clients that it holds for", text_or_list,
            R"(["10.0.0.0/8", "::1"])", "allow", "remote_ip"},
    KeyText{route,
            "scheme",
            "how the request came",
            R"("enum": ["http", "https"])",
            R"("https")",
            {},
            "protocol"},
    KeyText{route, "priority", "higher comes before nearer paths; 0 is every route's",
            R"("type": "integer", "minimum": -1000, "maximum": 1000)", "1"},
    KeyText{site, "canonical_host", "the name that requests for its other names are led to", text,
            R"("example.org")", "server_name", "redir"},
    KeyText{site, "try",
            "names of files, taken in turn: the last one, or a status, where none is there",
            R"("type": "array", "minItems": 1, "items": {"type": ["string", "integer"]})",
            R"(["{path}", "{path}/", "/index.html"])", "try_files", "try_files"},
    KeyText{site, "body_max", "the largest body of a request that a program is given", text,
            R"("64MiB")", "client_max_body_size", "request_body"},
    KeyText{site, "head_timeout", "the longest silence of a program; then 504", text, R"("60s")",
            "fastcgi_read_timeout"},
    KeyText{route, "strip", "the front of the path that the names of its files do not have", text,
            R"("/api")", "alias", "handle_path"},
    KeyText{route,
            "prefix",
            "what stands before the path in the names of its files",
            text,
            R"("/v2")",
            {},
            "rewrite"},
    KeyText{route, "rewrite", "the path of its file, in the place of the request's", text,
            R"("/app{rest}")", "rewrite", "rewrite"},
    KeyText{route, "fastcgi", "the FastCGI server that answers; the path may be a pattern", text,
            R"("unix:/run/php/php-fpm.sock")", "fastcgi_pass", "php_fastcgi"},
    KeyText{route, "cgi", "the folder of the programs that answer", text, R"("programs")"},
    KeyText{route, "metrics",
            "answers with the page of [metrics]; needs `remote` or `auth` beside it", truth, "true",
            "stub_status", "metrics"},

    KeyText{response, "set", "fields that answers get", table_of_texts,
            R"({"X-Frame-Options": "DENY"})", "add_header", "header"},
    KeyText{response, "remove", "fields that answers lose", list_of_texts, R"(["X-Powered-By"])",
            "proxy_hide_header", "header"},
    KeyText{rate, "limit", "how many, in a minute or a second",
            R"x("type": "string", "pattern": "^([0-9]+/(min|s)|.*\\$\\{.*)$")x", R"("100/min")",
            "limit_req_zone"},
    KeyText{rate, "burst", "how many at once",
            R"("type": "integer", "minimum": 1, "maximum": 1000000)", "20", "burst"},
    KeyText{rate, "by", "whose requests are counted together", R"("enum": ["client"])",
            R"("client")"},
    KeyText{auth, "users", "a name of [users]; with a slash a file", text, R"("staff")",
            "auth_basic_user_file", "basic_auth"},
};

// The schema of a field; "${NAME}" stands for any text.
struct SchemaOf {
    std::string operator()(const NoField&) const { return {}; }
    std::string operator()(const ServeFlag::Switch&) const { return std::string(truth); }
    std::string operator()(const ServeFlag::Time&) const { return R"("$ref": "#/$defs/time")"; }
    std::string operator()(const ServeFlag::Size&) const { return R"("$ref": "#/$defs/size")"; }
    std::string operator()(const ServeFlag::Count& field) const {
        return R"("type": "integer", "minimum": )" + std::to_string(field.smallest) +
               R"(, "maximum": )" + std::to_string(field.largest);
    }
    std::string operator()(const ServeFlag::Choice& field) const {
        std::string names;
        for (const std::string_view name : field.names) {
            names += (names.empty() ? "" : ", ") + string_text(name);
        }
        return R"("anyOf": [{"enum": [)" + names + R"(]}, {"$ref": "#/$defs/variable"}])";
    }
    std::string operator()(const ServeFlag::Text&) const { return std::string(text); }
};

bool has_word(const ServeFlag& flag) {
    return !std::holds_alternative<ServeFlag::Switch>(flag.field) &&
           !std::holds_alternative<ServeFlag::Count>(flag.field);
}

void add_flag_facts(const Key& key, KeyFacts& facts) {
    const ServeFlag& flag = flag_of(key);
    ServeOptions defaults;
    const FlagHelp help = describe(flag, defaults);
    if (facts.about.empty()) facts.about = help.about;
    if (facts.schema.empty()) facts.schema = std::visit(SchemaOf{}, flag.field);
    if (const auto* const field = std::get_if<ServeFlag::Switch>(&flag.field)) {
        const bool is_on = std::visit(
            [&](auto of) {
                if constexpr (requires { of(defaults).value_or(false); }) {
                    return of(defaults).value_or(false);
                } else {
                    return of(defaults);
                }
            },
            field->of);
        facts.initial = is_on ? "true" : "false";
        if (facts.example.empty()) facts.example = is_on ? "false" : "true";
        return;
    }
    if (help.default_text.empty()) return;
    if (help.default_text == flag.text.unset_means) {
        facts.unset = help.default_text;
        return;
    }
    const std::string_view value =
        std::string_view(help.default_text).substr(0, help.default_text.find(' '));
    facts.initial = has_word(flag) ? string_text(value) : std::string(value);
    if (!facts.example.empty()) return;
    const auto* const choice = std::get_if<ServeFlag::Choice>(&flag.field);
    facts.example = choice != nullptr ? string_text(choice->names.back()) : facts.initial;
}

}  // namespace

const KeyText* find_key_text(TableKind in, std::string_view name) {
    const auto found = std::ranges::find_if(
        texts, [&](const KeyText& each) { return each.in == in && each.name == name; });
    if (found != texts.end()) return &*found;
    // A setting that a route changes has the meaning that it has in the site.
    return in == route ? find_key_text(site, name) : nullptr;
}

KeyFacts facts_of(const Key& key) {
    KeyFacts facts;
    if (const KeyText* const own = find_key_text(key.in, key.name)) {
        facts = {.about = std::string(own->about),
                 .schema = std::string(own->schema),
                 .example = std::string(own->example),
                 .initial = {},
                 .unset = {},
                 .nginx = own->nginx,
                 .caddy = own->caddy};
    }
    const Key* const in_site = key.in == route ? find_key(site, key.name) : nullptr;
    if (!key.flag.empty()) {
        add_flag_facts(key, facts);
    } else if (in_site != nullptr && !in_site->flag.empty()) {
        add_flag_facts(*in_site, facts);
        facts.initial.clear();  // it is the site's
        facts.unset.clear();
    }
    return facts;
}

}  // namespace tiderace::server::config
