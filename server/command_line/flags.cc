#include "server/command_line/flags.h"

#include <algorithm>
#include <array>

#include "server/command_line/apply_flag.h"
#include "server/command_line/flag_texts.h"
#include "server/command_line/tls_flags.h"
#include "server/version.h"

namespace tiderace::server {
namespace {

constexpr std::array<std::string_view, 3> accept_names{"reuseport", "queue", "shared"};
constexpr std::array<std::string_view, 3> http2_names{"off", "on", "only"};
constexpr std::array<std::string_view, 3> symlink_names{"inside", "anywhere", "never"};
constexpr std::array<std::string_view, 3> client_auth_names{"off", "optional", "required"};
constexpr std::array<std::string_view, 3> log_format_names{"common", "combined", "json"};
constexpr std::array<std::string_view, 6> log_level_names{"trace",   "debug", "info",
                                                          "warning", "error", "off"};
constexpr std::array<std::string_view, 3> shell_names{"bash", "zsh", "fish"};
constexpr std::array<std::string_view, 21> command_names{
    "serve",  "run", "check", "reload",  "status", "top",  "init",
    "import", "fmt", "dump",  "explain", "schema", "load", "lab",
    "db",     "new", "trust", "version", "help",   "man",  "completions"};
constexpr std::array<std::string_view, 5> lab_command_names{"serve", "engines", "run", "report",
                                                            "help"};
constexpr std::array<std::string_view, 3> database_command_names{"migrate", "status", "help"};

// In the order of the help page. A line that grows over the page's width is wrapped there.
constexpr std::array serve_table{
    ServeFlag{{.name = "listen",
               .letter = 'l',
               .value = "ADDR",
               .group = Group::listening,
               .about = "HOST:PORT, :PORT for all addresses, or unix:PATH",
               .repeatable = true},
              ServeFlag::Text{set_listen, get_listen}},
    ServeFlag{{.name = "open", .letter = 'o', .about = "open a browser on the page"},
              ServeFlag::Switch{place<&ServeOptions::open_browser>}},
    ServeFlag{
        {.name = "http2", .value = "MODE", .about = "HTTP/2, beside HTTP/1.1 or instead of it"},
        choice_of<&ServeOptions::http2>(http2_names)},
    ServeFlag{{.name = "max-connections",
               .about = "connections open at once; more get a 503",
               .unset_means = "as descriptors allow"},
              ServeFlag::Count{place<&ServeOptions::connections_max>, 1, 10'000'000}},
    ServeFlag{
        {.name = "backlog", .about = "how many may wait to be accepted", .unit = "connections"},
        // Below net::Acceptor::queue_max, so that a drain accepts all that wait.
        ServeFlag::Count{place<&ServeOptions::backlog>, 1, 65'535}},

    ServeFlag{{.name = "tls",
               .value = "CERT[,KEY]",
               .group = Group::encryption,
               .about = "serve https: PEM files, or one with both",
               .repeatable = true,
               .completes = Completes::file},
              ServeFlag::Text{set_tls}},
    ServeFlag{{.name = "tls-self-signed",
               .about = "serve https with a certificate made here, for development"},
              ServeFlag::Switch{place<&ServeOptions::tls, &TlsOptions::self_signed>}},
    ServeFlag{{.name = "https-redirect",
               .value = "ADDR",
               .about = "listen here in clear text, only to redirect to https",
               .repeatable = true},
              ServeFlag::Text{set_https_redirect}},
    ServeFlag{{.name = "https-port",
               .value = "PORT",
               .about = "where clients find https, behind a forwarded port",
               .unset_means = "as --listen says"},
              ServeFlag::Count{place<&ServeOptions::tls, &TlsOptions::https_port>, 1, 65'535}},
    ServeFlag{{.name = "hsts",
               .about = "how long browsers use https only (bare: a year)",
               .unset_means = "not sent",
               .value_if_bare = "365d"},
              ServeFlag::Time{place<&ServeOptions::tls, &TlsOptions::hsts>}},
    ServeFlag{
        {.name = "tls-client-auth", .value = "MODE", .about = "ask clients for a certificate"},
        choice_of<&ServeOptions::tls, &TlsOptions::client_auth>(client_auth_names)},
    ServeFlag{{.name = "tls-client-ca",
               .value = "FILE",
               .about = "the authorities that sign client certificates (PEM)",
               .completes = Completes::file},
              ServeFlag::Text{take_text<&ServeOptions::tls, &TlsOptions::client_ca>}},

    ServeFlag{{.name = "index",
               .value = "NAMES",
               .group = Group::content,
               .about = "files that stand for their folder: a.html,b.html; or none"},
              ServeFlag::Text{set_index, get_index}},
    ServeFlag{
        {.name = "listing",
         .about = "list folders without an index file (if unset: on loopback, if DIR has none)"},
        ServeFlag::Switch{place<&ServeOptions::listing>}},
    ServeFlag{{.name = "no-listing", .about = "never list a folder"},
              ServeFlag::Switch{place<&ServeOptions::listing>, false}},
    ServeFlag{{.name = "spa",
               .value = "FILE",
               .about = "answer with FILE where nothing is found (bare: index.html)",
               .value_if_bare = "index.html"},
              ServeFlag::Text{set_spa}},
    ServeFlag{{.name = "clean-urls", .about = "find about.html as /about"},
              ServeFlag::Switch{place<&ServeOptions::clean_urls>}},
    ServeFlag{{.name = "error-page",
               .value = "CODE=FILE",
               .about = "the page of an error: 404=404.html",
               .repeatable = true},
              ServeFlag::Text{set_error_page}},
    ServeFlag{{.name = "path-error-page",
               .value = "PATH=CODE=FILE",
               .about = "the same for PATH and all below it: /api=404=404.json",
               .repeatable = true},
              ServeFlag::Text{set_path<RouteValue::error_page>}},
    ServeFlag{{.name = "mime",
               .value = "EXT=TYPE",
               .about = "the type of a file extension: glb=model/gltf-binary",
               .repeatable = true},
              ServeFlag::Text{set_mime}},
    ServeFlag{{.name = "no-precompressed", .about = "leave .br, .zst and .gz siblings alone"},
              ServeFlag::Switch{place<&ServeOptions::precompressed>, false}},
    ServeFlag{{.name = "compress",
               .value = "CODINGS",
               .about = "compress for clients that accept it: auto, off, or some of br,zstd,gzip"},
              ServeFlag::Text{set_compress, get_compress}},
    ServeFlag{{.name = "path-compress",
               .value = "PATH=CODINGS",
               .about = "--compress for PATH and all below it: /api=off, /docs=br,gzip",
               .repeatable = true},
              ServeFlag::Text{set_path<RouteValue::compress>}},
    ServeFlag{{.name = "compress-min", .about = "smallest body to compress"},
              ServeFlag::Size{place<&ServeOptions::compress, &CompressOptions::bytes_min>, 0,
                              UINT64_MAX, false}},
    ServeFlag{
        {.name = "compress-max", .about = "largest file to compress"},
        ServeFlag::Size{place<&ServeOptions::compress, &CompressOptions::bytes_max>, 0, 256_MiB}},
    ServeFlag{{.name = "compress-cache",
               .value = "DIR",
               .about = "keep compressed files in DIR over a restart",
               .completes = Completes::directory},
              ServeFlag::Text{take_text<&ServeOptions::compress, &CompressOptions::folder>}},
    ServeFlag{{.name = "hidden", .about = "serve names that begin with a dot, too"},
              ServeFlag::Switch{place<&ServeOptions::hidden_files>}},
    ServeFlag{{.name = "symlinks", .value = "POLICY", .about = "which links may lead on"},
              choice_of<&ServeOptions::symlinks>(symlink_names)},
    ServeFlag{{.name = "cgi",
               .value = "PATH=DIR",
               .about = "answer PATH by the programs in DIR: /cgi-bin=/srv/cgi",
               .repeatable = true},
              ServeFlag::Text{set_cgi}},
    ServeFlag{{.name = "fastcgi",
               .value = "PATTERN=ADDR",
               .about = "answer by a FastCGI peer: '*.php=unix:PATH' or /app=HOST:PORT",
               .repeatable = true},
              ServeFlag::Text{set_fastcgi}},
    ServeFlag{{.name = "cgi-timeout", .about = "longest silence of a program; then 504"},
              ServeFlag::Time{place<&ServeOptions::cgi, &CgiSettings::timeout>}},
    ServeFlag{{.name = "cgi-max",
               .about = "programs at a time; more requests wait, too many get a 503",
               .unit = "programs"},
              ServeFlag::Count{place<&ServeOptions::cgi, &CgiSettings::programs_max>, 1, 10'000}},
    ServeFlag{{.name = "cgi-memory", .about = "memory of a program's process"},
              ServeFlag::Size{place<&ServeOptions::cgi, &CgiSettings::memory_bytes_max>, 1_MiB}},

    ServeFlag{
        {.name = "cache-control",
         .value = "[PATTERN=]VALUE",
         .group = Group::answers,
         .about = "Cache-Control of matching (or all) paths: '*.css=max-age=3600'; first wins",
         .repeatable = true},
        ServeFlag::Text{set_cache_control}},
    ServeFlag{{.name = "header",
               .value = "NAME:VALUE",
               .about = "a field for every answer",
               .repeatable = true},
              ServeFlag::Text{set_header}},
    ServeFlag{{.name = "cors",
               .value = "ORIGIN",
               .about = "let other sites' scripts read (bare: all sites)",
               .value_if_bare = "*"},
              ServeFlag::Text{set_cors}},
    ServeFlag{{.name = "path-header",
               .value = "PATH=NAME:VALUE",
               .about = "a field for PATH and all below it, beside --header",
               .repeatable = true},
              ServeFlag::Text{set_path<RouteValue::header>}},
    ServeFlag{{.name = "path-cors",
               .value = "PATH=ORIGIN|off",
               .about = "--cors for PATH and all below it: '/api=*'",
               .repeatable = true},
              ServeFlag::Text{set_path<RouteValue::cors>}},
    ServeFlag{{.name = "path-redirect",
               .value = "PATH=TARGET|off",
               .about = "308 from PATH and all below it to TARGET and what follows PATH",
               .repeatable = true},
              ServeFlag::Text{set_path<RouteValue::redirect>}},
    ServeFlag{{.name = "no-server-header", .about = "leave out the Server field"},
              ServeFlag::Switch{place<&ServeOptions::server_header>, false}},
    ServeFlag{
        {.name = "about", .about = "show version, engine and loops at /.well-known/tiderace.json"},
        ServeFlag::Switch{place<&ServeOptions::about>}},

    ServeFlag{
        {.name = "basic-auth",
         .value = "USER:PASSWORD|FILE",
         .group = Group::access,
         .about = "ask for a name and password; FILE has htpasswd lines (bcrypt, SHA-2, yescrypt)",
         .repeatable = true,
         .completes = Completes::file},
        ServeFlag::Text{set_basic_auth}},
    ServeFlag{{.name = "path-auth",
               .value = "PATH=USER:PASSWORD|FILE|off",
               .about = "who may enter PATH and all below it, in place of --basic-auth",
               .repeatable = true},
              ServeFlag::Text{set_path<RouteValue::auth>}},
    ServeFlag{{.name = "path-rate",
               .value = "PATH=N[,BURST]|off",
               .about = "requests a minute of one client, BURST (10) at once; more get a 429",
               .repeatable = true},
              ServeFlag::Text{set_path<RouteValue::rate>}},

    ServeFlag{{.name = "access-log",
               .value = "FILE|-|off",
               .group = Group::logging,
               .about = "a line per request; - is standard output",
               .completes = Completes::file},
              ServeFlag::Text{take_text<&ServeOptions::access_log>, get_access_log}},
    ServeFlag{{.name = "path-log",
               .value = "PATH=FILE|-|off",
               .about = "the access log of PATH and all below it: /api=api.log, /healthz=off",
               .repeatable = true},
              ServeFlag::Text{set_path_log}},
    ServeFlag{{.name = "log-format", .value = "FORMAT", .about = "format of these lines"},
              choice_of<&ServeOptions::log_format>(log_format_names)},
    ServeFlag{{.name = "log-level", .value = "LEVEL", .about = "how much the server logs"},
              choice_of<&ServeOptions::log_level>(log_level_names)},
    ServeFlag{{.name = "log-flush", .about = "longest time until a line is written"},
              ServeFlag::Time{place<&ServeOptions::log_flush_interval>}},
    ServeFlag{
        {.name = "log-rotate", .about = "begin a new file at this size", .unset_means = "never"},
        ServeFlag::Size{place<&ServeOptions::log_rotate_bytes>}},
    ServeFlag{{.name = "log-keep",
               .about = "rotated files to keep; the oldest one is deleted",
               .unset_means = "5"},
              ServeFlag::Count{place<&ServeOptions::log_files_kept>, 0, 10'000}},
    ServeFlag{{.name = "quiet", .letter = 'q', .about = "print nothing at start"},
              ServeFlag::Switch{place<&ServeOptions::quiet>}},

    ServeFlag{
        {.name = "threads",
         .letter = 't',
         .group = Group::engine,
         .about = "event loops, a thread each",
         .unset_means = "one per CPU"},
        // Each loop has a ring in every log, which has at most log::Stream::rings_max of them.
        ServeFlag::Count{place<&ServeOptions::threads>, 0, 1024}},
    ServeFlag{{.name = "engine", .value = "NAME", .about = "how a loop asks the kernel"},
              engine_choice<ServeOptions>()},
    ServeFlag{{.name = "accept", .value = "MODE", .about = "which thread accepts new connections"},
              choice_of<&ServeOptions::accept>(accept_names)},
    ServeFlag{
        {.name = "user",
         .value = "NAME[:GROUP]",
         .about = "run as this user once ports and files are open; root without it: as nobody"},
        ServeFlag::Text{set_user}},
    ServeFlag{{.name = "cache",
               .about = "memory for files, per loop; those being sent may take 64 MiB more"},
              ServeFlag::Size{place<&ServeOptions::cache, &CacheOptions::bytes_max>}},
    ServeFlag{{.name = "cache-file-max",
               .about = "largest file that the cache holds",
               .unset_means = "32KiB, or 4MiB with TLS"},
              ServeFlag::Size{place<&ServeOptions::cache, &CacheOptions::memory_file_bytes_max>}},
    ServeFlag{{.name = "cache-check", .about = "how often a cached file is compared with the disk"},
              ServeFlag::Time{place<&ServeOptions::cache, &CacheOptions::revalidate>}},
    ServeFlag{{.name = "small-copy-max", .about = "largest file sent in one piece with its header"},
              ServeFlag::Size{place<&ServeOptions::cache, &CacheOptions::small_copy_bytes_max>}},
    ServeFlag{{.name = "sendfile-min",
               .about = "smallest uncached file to go by sendfile",
               .unset_means = "32KiB, or 128KiB with TLS"},
              ServeFlag::Size{place<&ServeOptions::cache, &CacheOptions::sendfile_bytes_min>, 0,
                              UINT64_MAX, false}},

    ServeFlag{{.name = "header-timeout",
               .group = Group::limits,
               .about = "for a whole request head",
               .unset_means = "none"},
              ServeFlag::Time{place<&ServeOptions::timeouts, &Timeouts::header>}},
    ServeFlag{
        {.name = "body-timeout", .about = "while a request body stalls", .unset_means = "none"},
        ServeFlag::Time{place<&ServeOptions::timeouts, &Timeouts::body>}},
    ServeFlag{{.name = "write-timeout", .about = "while an answer stalls", .unset_means = "none"},
              ServeFlag::Time{place<&ServeOptions::timeouts, &Timeouts::write>}},
    ServeFlag{{.name = "idle-timeout", .about = "between two requests", .unset_means = "none"},
              ServeFlag::Time{place<&ServeOptions::timeouts, &Timeouts::idle>}},
    ServeFlag{{.name = "half-closed-timeout",
               .about = "while an answer stalls whose client has ended its side; then 503",
               .unset_means = "none"},
              ServeFlag::Time{place<&ServeOptions::timeouts, &Timeouts::half_closed>}},
    ServeFlag{{.name = "drain-timeout", .about = "for running answers when the server stops"},
              ServeFlag::Time{place<&ServeOptions::timeouts, &Timeouts::drain>}},
    ServeFlag{
        {.name = "min-receive-rate",
         .value = "RATE",
         .about = "a slower sender is cut off",
         .unset_means = "off",
         .unit = "bytes/s"},
        ServeFlag::Size{
            place<&ServeOptions::minimum_rates, &MinimumRates::receive_bytes_per_second_min>}},
    ServeFlag{{.name = "min-send-rate",
               .value = "RATE",
               .about = "a slower reader is cut off",
               .unset_means = "off",
               .unit = "bytes/s"},
              ServeFlag::Size{
                  place<&ServeOptions::minimum_rates, &MinimumRates::send_bytes_per_second_min>}},
    ServeFlag{{.name = "max-line", .about = "longest request line; longer is 414"},
              ServeFlag::Size{place<&ServeOptions::limits, &RequestLimits::request_line_bytes_max>,
                              64, 1_MiB}},
    ServeFlag{
        {.name = "max-head", .about = "largest request head; larger is 431"},
        ServeFlag::Size{place<&ServeOptions::limits, &RequestLimits::head_bytes_max>, 256, 16_MiB}},
    ServeFlag{
        {.name = "max-fields",
         .about = "most fields in a request head; more is 431",
         .unit = "fields"},
        ServeFlag::Count{place<&ServeOptions::limits, &RequestLimits::fields_max>, 1, 10'000}},
    ServeFlag{{.name = "max-body", .about = "largest request body; larger is 413"},
              ServeFlag::Size{place<&ServeOptions::limits, &RequestLimits::body_bytes_max>, 0,
                              UINT64_MAX, false}},
    ServeFlag{{.name = "send-buffer-max",
               .about = "unsent answers of a loop; above it, the slowest readers are cut off"},
              ServeFlag::Size{place<&ServeOptions::limits, &RequestLimits::send_bytes_max>, 1_MiB}},

    ServeFlag{{.name = "print-config",
               .group = Group::other,
               .about = "print the configuration file that does the same, and end"},
              NoField{}},
    ServeFlag{help_flag, NoField{}},
};

// Flags of the commands about configuration files, and of `version`.
constexpr FlagText verbose{
    .name = "verbose", .letter = 'v', .group = Group::other, .about = "also how it was built"};
constexpr FlagText only_check{
    .name = "check",
    .group = Group::other,
    .about = "list the lines that are not, with status 1, and write nothing"};
constexpr FlagText effective{.name = "effective",
                             .group = Group::other,
                             .about = "presets in their places, and the defaults"};
constexpr FlagText request_method{.name = "method",
                                  .letter = 'X',
                                  .value = "METHOD",
                                  .group = Group::other,
                                  .about = "of the request; GET where there is none"};
constexpr FlagText request_field{.name = "header",
                                 .letter = 'H',
                                 .value = "FIELD",
                                 .group = Group::other,
                                 .about = "'Name: value', of the request",
                                 .repeatable = true};
constexpr FlagText request_client{.name = "from",
                                  .value = "ADDR",
                                  .group = Group::other,
                                  .about = "the client's address; 127.0.0.1 where there is none"};
constexpr FlagText as_json{.name = "json", .group = Group::other, .about = "as JSON"};
constexpr FlagText admin_socket{.name = "socket",
                                .value = "PATH",
                                .group = Group::other,
                                .about = "its admin socket, in the place of a file",
                                .completes = Completes::file};
constexpr FlagText init_folder{.name = "folder",
                               .value = "DIR",
                               .group = Group::other,
                               .about = "for this folder, without questions",
                               .completes = Completes::directory};
constexpr FlagText init_php{.name = "php",
                            .value = "ADDR",
                            .group = Group::other,
                            .about = "for PHP by this php-fpm (bare: one that runs here)",
                            .value_if_bare = "here"};
constexpr FlagText init_hosts{.name = "hosts",
                              .value = "A,B",
                              .group = Group::other,
                              .about = "for these hosts, each with a folder of its name"};
constexpr FlagText init_listen{.name = "listen",
                               .letter = 'l',
                               .value = "ADDR",
                               .group = Group::other,
                               .about = "HOST:PORT, :PORT for all addresses, or unix:PATH"};

// Flags that name a running server: its file, or its socket.
CommandSpec asking(std::string_view name, std::string_view about, bool has_json = false) {
    CommandSpec spec{.name = name, .operand = "[FILE]", .about = about, .flags = {}};
    if (has_json) spec.flags.push_back({as_json});
    spec.flags.push_back({admin_socket});
    spec.flags.push_back({help_flag});
    return spec;
}

}  // namespace

std::span<const CommandSpec> commands() {
    static const std::array<CommandSpec, 21> all{{
        {.name = "serve",
         .operand = "[DIR]",
         .about = "serve a folder; the current one when none is named",
         .flags = describe(serve_flags())},
        {.name = "run", .operand = "FILE", .about = "serve the sites of a configuration file"},
        {.name = "check",
         .operand = "FILE",
         .about = "all that is wrong with a configuration file"},
        asking("reload", "have the server of a configuration file read it again"),
        asking("status", "what the server of a configuration file serves now", true),
        asking("top", "the same, each second, with requests per second"),
        {.name = "init",
         .operand = "[FILE]",
         .about = "write a configuration file to begin with, after three questions",
         .flags = {{init_folder}, {init_php}, {init_hosts}, {init_listen}, {help_flag}}},
        {.name = "import",
         .operand = "nginx FILE...",
         .about = "print the configuration file that does what nginx does",
         .flags = {{help_flag}}},
        {.name = "fmt",
         .operand = "FILE",
         .about = "put the spaces and line ends of a configuration file in order",
         .flags = {{only_check}, {help_flag}}},
        {.name = "dump",
         .operand = "FILE",
         .about = "each value of a configuration, and where it came from",
         .flags = {{effective}, {as_json}, {help_flag}}},
        {.name = "explain",
         .operand = "FILE URL...",
         .about = "what answers a request, and each setting that holds for it",
         .flags = {{request_method}, {request_field}, {request_client}, {help_flag}}},
        {.name = "schema", .about = "the JSON Schema of these files, for editors"},
        {.name = "load",
         .operand = "URL",
         .about = "put a server of yours under load, and report how it performs"},
        {.name = "lab",
         .operand = "COMMAND",
         .about = "compare ways of building a server: tiderace lab help",
         .operand_choices = lab_command_names},
        {.name = "db",
         .operand = "COMMAND",
         .about = "migrations of a database: tiderace db help",
         .operand_choices = database_command_names},
        {.name = "new",
         .operand = "DIR",
         .about = "the files of a service on the library, in a new folder"},
        {.name = "trust", .about = "how to make this machine trust --tls-self-signed"},
        {.name = "version",
         .about = "the version; with -v also how it was built",
         .flags = {{verbose}, {help_flag}}},
        {.name = "help",
         .operand = "[COMMAND]",
         .about = "this page, or the flags of a command",
         .operand_choices = command_names},
        {.name = "man", .about = "the manual page: tiderace man | man -l -"},
        {.name = "completions",
         .operand = "SHELL",
         .about = "completions for bash, zsh or fish",
         .operand_choices = shell_names},
    }};
    return all;
}

const CommandSpec* find_command(std::string_view name, std::span<const CommandSpec> among) {
    const auto found = std::ranges::find(among, name, &CommandSpec::name);
    return found == among.end() ? nullptr : &*found;
}

std::span<const ServeFlag> serve_flags() {
    return serve_table;
}

}  // namespace tiderace::server
