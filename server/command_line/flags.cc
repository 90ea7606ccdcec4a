#include "server/command_line/flags.h"

#include <algorithm>
#include <array>

#include "server/command_line/apply_flag.h"
#include "server/command_line/flag_texts.h"
#include "server/command_line/load_flags.h"
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
constexpr std::array<std::string_view, 9> command_names{
    "serve", "load", "lab", "db", "trust", "version", "help", "man", "completions"};
constexpr std::array<std::string_view, 5> lab_command_names{"serve", "engines", "run", "report",
                                                            "help"};
constexpr std::array<std::string_view, 3> database_command_names{"migrate", "status", "help"};

std::size_t engine_index(const ServeOptions& options) {
    const auto found = std::ranges::find(engine_choices, options.engine);
    return static_cast<std::size_t>(found - engine_choices.begin());
}

constexpr FlagText help_flag{.name = "help", .letter = 'h', .about = "this page"};

// In the order of the help page. A line that grows over the page's width is wrapped there.
constexpr std::array serve_table{
    ServeFlag{{.name = "listen",
               .letter = 'l',
               .value = "ADDR",
               .group = Group::listening,
               .about = "HOST:PORT, :PORT for all addresses, or unix:PATH",
               .repeatable = true},
              ServeFlag::Text{set_listen, get_listen}},
    ServeFlag{{.name = "open",
               .letter = 'o',
               .group = Group::listening,
               .about = "open a browser on the page"},
              ServeFlag::Switch{[](ServeOptions& o) -> bool& { return o.open_browser; }}},
    ServeFlag{
        {.name = "http2",
         .value = "MODE",
         .group = Group::listening,
         .about = "HTTP/2, beside HTTP/1.1 or instead of it"},
        ServeFlag::Choice{http2_names,
                          [](ServeOptions& o, std::size_t i) { o.http2 = static_cast<Http2>(i); },
                          [](const ServeOptions& o) { return static_cast<std::size_t>(o.http2); }}},
    ServeFlag{{.name = "max-connections",
               .value = "N",
               .group = Group::listening,
               .about = "connections open at once; more get a 503",
               .unset_means = "as descriptors allow"},
              ServeFlag::Count{[](ServeOptions& o) -> std::optional<std::uint64_t>& {
                                   return o.connections_max;
                               },
                               1, 10'000'000}},
    ServeFlag{
        {.name = "backlog",
         .value = "N",
         .group = Group::listening,
         .about = "how many may wait to be accepted",
         .unit = "connections"},
        // Below net::Acceptor::queue_max, so that a drain accepts all that wait.
        ServeFlag::Count{[](ServeOptions& o) -> std::uint64_t& { return o.backlog; }, 1, 65'535}},

    ServeFlag{{.name = "tls",
               .value = "CERT[,KEY[,OCSP]]",
               .group = Group::encryption,
               .about = "serve https: PEM files, or one with both; OCSP is an answer to staple",
               .repeatable = true,
               .completes = Completes::file},
              ServeFlag::Text{set_tls}},
    ServeFlag{{.name = "tls-self-signed",
               .group = Group::encryption,
               .about = "serve https with a certificate made here, for development"},
              ServeFlag::Switch{[](ServeOptions& o) -> bool& { return o.tls.self_signed; }}},
    ServeFlag{{.name = "https-redirect",
               .value = "ADDR",
               .group = Group::encryption,
               .about = "listen here in clear text, only to redirect to https",
               .repeatable = true},
              ServeFlag::Text{set_https_redirect}},
    ServeFlag{{.name = "https-port",
               .value = "PORT",
               .group = Group::encryption,
               .about = "where clients find https, behind a forwarded port",
               .unset_means = "as --listen says"},
              ServeFlag::Count{
                  [](ServeOptions& o) -> std::optional<std::uint64_t>& { return o.tls.https_port; },
                  1, 65'535}},
    ServeFlag{{.name = "hsts",
               .value = "TIME",
               .group = Group::encryption,
               .about = "how long browsers use https only (bare: a year)",
               .unset_means = "not sent",
               .value_if_bare = "365d"},
              ServeFlag::Time{[](ServeOptions& o) -> Duration& { return o.tls.hsts; }}},
    ServeFlag{
        {.name = "tls-client-auth",
         .value = "MODE",
         .group = Group::encryption,
         .about = "ask clients for a certificate"},
        ServeFlag::Choice{
            client_auth_names,
            [](ServeOptions& o, std::size_t i) { o.tls.client_auth = static_cast<ClientAuth>(i); },
            [](const ServeOptions& o) { return static_cast<std::size_t>(o.tls.client_auth); }}},
    ServeFlag{{.name = "tls-client-ca",
               .value = "FILE",
               .group = Group::encryption,
               .about = "the authorities that sign client certificates (PEM)",
               .completes = Completes::file},
              ServeFlag::Text{set_client_ca}},

    ServeFlag{{.name = "index",
               .value = "NAMES",
               .group = Group::content,
               .about = "files that stand for their folder: a.html,b.html; or none"},
              ServeFlag::Text{set_index, get_index}},
    ServeFlag{
        {.name = "listing",
         .group = Group::content,
         .about = "list folders without an index file (if unset: on loopback, if DIR has none)"},
        ServeFlag::Switch{[](ServeOptions& o) -> std::optional<bool>& { return o.listing; }}},
    ServeFlag{{.name = "no-listing", .group = Group::content, .about = "never list a folder"},
              ServeFlag::Switch{[](ServeOptions& o) -> std::optional<bool>& { return o.listing; },
                                false}},
    ServeFlag{{.name = "spa",
               .value = "FILE",
               .group = Group::content,
               .about = "answer with FILE where nothing is found (bare: index.html)",
               .value_if_bare = "index.html"},
              ServeFlag::Text{set_spa}},
    ServeFlag{{.name = "clean-urls", .group = Group::content, .about = "find about.html as /about"},
              ServeFlag::Switch{[](ServeOptions& o) -> bool& { return o.clean_urls; }}},
    ServeFlag{{.name = "error-page",
               .value = "CODE=FILE",
               .group = Group::content,
               .about = "the page of an error: 404=404.html",
               .repeatable = true},
              ServeFlag::Text{set_error_page}},
    ServeFlag{{.name = "path-error-page",
               .value = "PATH=CODE=FILE",
               .group = Group::content,
               .about = "the same for PATH and all below it: /api=404=404.json",
               .repeatable = true},
              ServeFlag::Text{set_path_error_page}},
    ServeFlag{{.name = "mime",
               .value = "EXT=TYPE",
               .group = Group::content,
               .about = "the type of a file extension: glb=model/gltf-binary",
               .repeatable = true},
              ServeFlag::Text{set_mime}},
    ServeFlag{{.name = "no-precompressed",
               .group = Group::content,
               .about = "leave .br, .zst and .gz siblings alone"},
              ServeFlag::Switch{[](ServeOptions& o) -> bool& { return o.precompressed; }, false}},
    ServeFlag{{.name = "compress",
               .value = "CODINGS",
               .group = Group::content,
               .about = "compress for clients that accept it: auto, off, or some of br,zstd,gzip"},
              ServeFlag::Text{set_compress, get_compress}},
    ServeFlag{{.name = "path-compress",
               .value = "PATH=CODINGS",
               .group = Group::content,
               .about = "--compress for PATH and all below it: /api=off, /docs=br,gzip",
               .repeatable = true},
              ServeFlag::Text{set_path_compress}},
    ServeFlag{
        {.name = "compress-min",
         .value = "SIZE",
         .group = Group::content,
         .about = "smallest body to compress"},
        ServeFlag::Size{[](ServeOptions& o) -> std::uint64_t& { return o.compress.bytes_min; }}},
    ServeFlag{
        {.name = "compress-max",
         .value = "SIZE",
         .group = Group::content,
         .about = "largest file to compress"},
        ServeFlag::Size{[](ServeOptions& o) -> std::uint64_t& { return o.compress.bytes_max; }, 0,
                        256_MiB}},
    ServeFlag{{.name = "compress-cache",
               .value = "DIR",
               .group = Group::content,
               .about = "keep compressed files in DIR over a restart",
               .completes = Completes::directory},
              ServeFlag::Text{set_compress_cache}},
    ServeFlag{{.name = "hidden",
               .group = Group::content,
               .about = "serve names that begin with a dot, too"},
              ServeFlag::Switch{[](ServeOptions& o) -> bool& { return o.hidden_files; }}},
    ServeFlag{
        {.name = "symlinks",
         .value = "POLICY",
         .group = Group::content,
         .about = "which links may lead on"},
        ServeFlag::Choice{
            symlink_names,
            [](ServeOptions& o, std::size_t i) { o.symlinks = static_cast<SymlinkPolicy>(i); },
            [](const ServeOptions& o) { return static_cast<std::size_t>(o.symlinks); }}},
    ServeFlag{{.name = "cgi",
               .value = "PATH=DIR",
               .group = Group::content,
               .about = "answer PATH by the programs in DIR: /cgi-bin=/srv/cgi",
               .repeatable = true,
               .completes = Completes::directory},
              ServeFlag::Text{set_cgi}},
    ServeFlag{{.name = "fastcgi",
               .value = "PATTERN=ADDR",
               .group = Group::content,
               .about = "answer by a FastCGI peer: '*.php=unix:PATH' or /app=HOST:PORT",
               .repeatable = true},
              ServeFlag::Text{set_fastcgi}},
    ServeFlag{{.name = "cgi-timeout",
               .value = "TIME",
               .group = Group::content,
               .about = "longest silence of a program; then 504"},
              ServeFlag::Time{[](ServeOptions& o) -> Duration& { return o.cgi.timeout; }}},
    ServeFlag{{.name = "cgi-max",
               .value = "N",
               .group = Group::content,
               .about = "programs at a time; more requests wait, too many get a 503",
               .unit = "programs"},
              ServeFlag::Count{[](ServeOptions& o) -> std::uint64_t& { return o.cgi.programs_max; },
                               1, 10'000}},
    ServeFlag{{.name = "cgi-memory",
               .value = "SIZE",
               .group = Group::content,
               .about = "memory of a program's process"},
              ServeFlag::Size{
                  [](ServeOptions& o) -> std::uint64_t& { return o.cgi.memory_bytes_max; }, 1_MiB}},

    ServeFlag{
        {.name = "cache-control",
         .value = "[PATTERN=]VALUE",
         .group = Group::answers,
         .about = "Cache-Control of matching (or all) paths: '*.css=max-age=3600'; first wins",
         .repeatable = true},
        ServeFlag::Text{set_cache_control}},
    ServeFlag{{.name = "header",
               .value = "NAME:VALUE",
               .group = Group::answers,
               .about = "a field for every answer",
               .repeatable = true},
              ServeFlag::Text{set_header}},
    ServeFlag{{.name = "cors",
               .value = "ORIGIN",
               .group = Group::answers,
               .about = "let other sites' scripts read (bare: all sites)",
               .value_if_bare = "*"},
              ServeFlag::Text{set_cors}},
    ServeFlag{{.name = "path-header",
               .value = "PATH=NAME:VALUE",
               .group = Group::answers,
               .about = "a field for PATH and all below it, beside --header",
               .repeatable = true},
              ServeFlag::Text{set_path_header}},
    ServeFlag{{.name = "path-cors",
               .value = "PATH=ORIGIN|off",
               .group = Group::answers,
               .about = "--cors for PATH and all below it: '/api=*'",
               .repeatable = true},
              ServeFlag::Text{set_path_cors}},
    ServeFlag{{.name = "path-redirect",
               .value = "PATH=TARGET|off",
               .group = Group::answers,
               .about = "308 from PATH and all below it to TARGET and what follows PATH",
               .repeatable = true},
              ServeFlag::Text{set_path_redirect}},
    ServeFlag{{.name = "no-server-header",
               .group = Group::answers,
               .about = "leave out the Server field"},
              ServeFlag::Switch{[](ServeOptions& o) -> bool& { return o.server_header; }, false}},
    ServeFlag{{.name = "about",
               .group = Group::answers,
               .about = "show version, engine and loops at /.well-known/tiderace.json"},
              ServeFlag::Switch{[](ServeOptions& o) -> bool& { return o.about; }}},

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
               .group = Group::access,
               .about = "who may enter PATH and all below it, in place of --basic-auth",
               .repeatable = true},
              ServeFlag::Text{set_path_auth}},
    ServeFlag{{.name = "path-rate",
               .value = "PATH=N[,BURST]|off",
               .group = Group::access,
               .about = "requests a minute of one client, BURST (10) at once; more get a 429",
               .repeatable = true},
              ServeFlag::Text{set_path_rate}},

    ServeFlag{{.name = "access-log",
               .value = "FILE|-|off",
               .group = Group::logging,
               .about = "a line per request; - is standard output",
               .completes = Completes::file},
              ServeFlag::Text{set_access_log, get_access_log}},
    ServeFlag{{.name = "path-log",
               .value = "PATH=FILE|-|off",
               .group = Group::logging,
               .about = "the access log of PATH and all below it: /api=api.log, /healthz=off",
               .repeatable = true},
              ServeFlag::Text{set_path_log}},
    ServeFlag{{.name = "log-format",
               .value = "FORMAT",
               .group = Group::logging,
               .about = "format of these lines"},
              ServeFlag::Choice{
                  log_format_names,
                  [](ServeOptions& o, std::size_t i) { o.log_format = static_cast<LogFormat>(i); },
                  [](const ServeOptions& o) { return static_cast<std::size_t>(o.log_format); }}},
    ServeFlag{{.name = "log-level",
               .value = "LEVEL",
               .group = Group::logging,
               .about = "how much the server logs"},
              ServeFlag::Choice{
                  log_level_names,
                  [](ServeOptions& o, std::size_t i) { o.log_level = static_cast<LogLevel>(i); },
                  [](const ServeOptions& o) { return static_cast<std::size_t>(o.log_level); }}},
    ServeFlag{{.name = "log-flush",
               .value = "TIME",
               .group = Group::logging,
               .about = "longest time until a line is written"},
              ServeFlag::Time{[](ServeOptions& o) -> Duration& { return o.log_flush_interval; }}},
    ServeFlag{
        {.name = "log-rotate",
         .value = "SIZE",
         .group = Group::logging,
         .about = "begin a new file at this size",
         .unset_means = "never"},
        ServeFlag::Size{[](ServeOptions& o) -> std::uint64_t& { return o.log_rotate_bytes; }}},
    ServeFlag{{.name = "log-keep",
               .value = "N",
               .group = Group::logging,
               .about = "rotated files to keep; the oldest one is deleted",
               .unset_means = "5"},
              ServeFlag::Count{
                  [](ServeOptions& o) -> std::optional<std::uint64_t>& { return o.log_files_kept; },
                  0, 10'000}},
    ServeFlag{{.name = "quiet",
               .letter = 'q',
               .group = Group::logging,
               .about = "print nothing at start"},
              ServeFlag::Switch{[](ServeOptions& o) -> bool& { return o.quiet; }}},

    ServeFlag{
        {.name = "threads",
         .letter = 't',
         .value = "N",
         .group = Group::engine,
         .about = "event loops, a thread each",
         .unset_means = "one per CPU"},
        // Each loop has a ring in every log, which has at most log::Stream::rings_max of them.
        ServeFlag::Count{[](ServeOptions& o) -> std::uint64_t& { return o.threads; }, 0, 1024}},
    ServeFlag{
        {.name = "engine",
         .value = "NAME",
         .group = Group::engine,
         .about = "how a loop asks the kernel"},
        ServeFlag::Choice{engine_choices,
                          [](ServeOptions& o, std::size_t i) { o.engine = engine_choices[i]; },
                          engine_index, systems_of_engine}},
    ServeFlag{{.name = "accept",
               .value = "MODE",
               .group = Group::engine,
               .about = "which thread accepts new connections"},
              ServeFlag::Choice{
                  accept_names,
                  [](ServeOptions& o, std::size_t i) { o.accept = static_cast<AcceptMode>(i); },
                  [](const ServeOptions& o) { return static_cast<std::size_t>(o.accept); }}},
    ServeFlag{
        {.name = "user",
         .value = "NAME[:GROUP]",
         .group = Group::engine,
         .about = "run as this user once ports and files are open; root without it: as nobody"},
        ServeFlag::Text{set_user}},
    ServeFlag{{.name = "cache",
               .value = "SIZE",
               .group = Group::engine,
               .about = "memory for files, per loop; those being sent may take 64 MiB more"},
              ServeFlag::Size{[](ServeOptions& o) -> std::uint64_t& { return o.cache.bytes_max; }}},
    ServeFlag{{.name = "cache-file-max",
               .value = "SIZE",
               .group = Group::engine,
               .about = "largest file that the cache holds",
               .unset_means = "32KiB, or 4MiB with TLS"},
              ServeFlag::Size{[](ServeOptions& o) -> std::optional<std::uint64_t>& {
                  return o.cache.memory_file_bytes_max;
              }}},
    ServeFlag{{.name = "cache-check",
               .value = "TIME",
               .group = Group::engine,
               .about = "how often a cached file is compared with the disk"},
              ServeFlag::Time{[](ServeOptions& o) -> Duration& { return o.cache.revalidate; }}},
    ServeFlag{{.name = "small-copy-max",
               .value = "SIZE",
               .group = Group::engine,
               .about = "largest file sent in one piece with its header"},
              ServeFlag::Size{
                  [](ServeOptions& o) -> std::uint64_t& { return o.cache.small_copy_bytes_max; }}},
    ServeFlag{{.name = "sendfile-min",
               .value = "SIZE",
               .group = Group::engine,
               .about = "smallest uncached file to go by sendfile",
               .unset_means = "32KiB, or 128KiB with TLS"},
              ServeFlag::Size{[](ServeOptions& o) -> std::optional<std::uint64_t>& {
                  return o.cache.sendfile_bytes_min;
              }}},

    ServeFlag{{.name = "header-timeout",
               .value = "TIME",
               .group = Group::limits,
               .about = "for a whole request head",
               .unset_means = "none"},
              ServeFlag::Time{[](ServeOptions& o) -> Duration& { return o.timeouts.header; }}},
    ServeFlag{{.name = "body-timeout",
               .value = "TIME",
               .group = Group::limits,
               .about = "while a request body stalls",
               .unset_means = "none"},
              ServeFlag::Time{[](ServeOptions& o) -> Duration& { return o.timeouts.body; }}},
    ServeFlag{{.name = "write-timeout",
               .value = "TIME",
               .group = Group::limits,
               .about = "while an answer stalls",
               .unset_means = "none"},
              ServeFlag::Time{[](ServeOptions& o) -> Duration& { return o.timeouts.write; }}},
    ServeFlag{{.name = "idle-timeout",
               .value = "TIME",
               .group = Group::limits,
               .about = "between two requests",
               .unset_means = "none"},
              ServeFlag::Time{[](ServeOptions& o) -> Duration& { return o.timeouts.idle; }}},
    ServeFlag{{.name = "half-closed-timeout",
               .value = "TIME",
               .group = Group::limits,
               .about = "while an answer stalls whose client has ended its side; then 503",
               .unset_means = "none"},
              ServeFlag::Time{[](ServeOptions& o) -> Duration& { return o.timeouts.half_closed; }}},
    ServeFlag{{.name = "drain-timeout",
               .value = "TIME",
               .group = Group::limits,
               .about = "for running answers when the server stops"},
              ServeFlag::Time{[](ServeOptions& o) -> Duration& { return o.timeouts.drain; }}},
    ServeFlag{{.name = "min-receive-rate",
               .value = "RATE",
               .group = Group::limits,
               .about = "a slower sender is cut off",
               .unset_means = "off",
               .unit = "bytes/s"},
              ServeFlag::Size{[](ServeOptions& o) -> std::uint64_t& {
                  return o.minimum_rates.receive_bytes_per_second_min;
              }}},
    ServeFlag{{.name = "min-send-rate",
               .value = "RATE",
               .group = Group::limits,
               .about = "a slower reader is cut off",
               .unset_means = "off",
               .unit = "bytes/s"},
              ServeFlag::Size{[](ServeOptions& o) -> std::uint64_t& {
                  return o.minimum_rates.send_bytes_per_second_min;
              }}},
    ServeFlag{{.name = "max-line",
               .value = "SIZE",
               .group = Group::limits,
               .about = "longest request line; longer is 414"},
              ServeFlag::Size{
                  [](ServeOptions& o) -> std::uint64_t& { return o.limits.request_line_bytes_max; },
                  64, 1_MiB}},
    ServeFlag{
        {.name = "max-head",
         .value = "SIZE",
         .group = Group::limits,
         .about = "largest request head; larger is 431"},
        ServeFlag::Size{[](ServeOptions& o) -> std::uint64_t& { return o.limits.head_bytes_max; },
                        256, 16_MiB}},
    ServeFlag{
        {.name = "max-fields",
         .value = "N",
         .group = Group::limits,
         .about = "most fields in a request head; more is 431",
         .unit = "fields"},
        ServeFlag::Count{[](ServeOptions& o) -> std::uint64_t& { return o.limits.fields_max; }, 1,
                         10'000}},
    ServeFlag{
        {.name = "max-body",
         .value = "SIZE",
         .group = Group::limits,
         .about = "largest request body; larger is 413"},
        ServeFlag::Size{[](ServeOptions& o) -> std::uint64_t& { return o.limits.body_bytes_max; }}},
    ServeFlag{
        {.name = "send-buffer-max",
         .value = "SIZE",
         .group = Group::limits,
         .about = "unsent answers of a loop; above it, the slowest readers are cut off"},
        ServeFlag::Size{[](ServeOptions& o) -> std::uint64_t& { return o.limits.send_bytes_max; },
                        1_MiB}},

    ServeFlag{help_flag, NoField{}},
};

const std::array<CommandSpec, 9>& all_commands() {
    const std::vector<FlagHelp> only_help{{help_flag}};
    const FlagText verbose{.name = "verbose", .letter = 'v', .about = "also how it was built"};
    static const std::array<CommandSpec, 9> all{
        CommandSpec{"serve",
                    "[DIR]",
                    "serve a folder; the current one when none is named",
                    describe(serve_flags()),
                    {}},
        CommandSpec{"load",
                    "URL",
                    "put a server of yours under load, and report how it performs",
                    describe(load_flags()),
                    {}},
        CommandSpec{"lab", "COMMAND", "compare ways of building a server: tiderace lab help",
                    only_help, lab_command_names},
        CommandSpec{"db", "COMMAND", "migrations of a database: tiderace db help", only_help,
                    database_command_names},
        CommandSpec{"trust", "", "how to make this machine trust --tls-self-signed", only_help, {}},
        CommandSpec{"version",
                    "",
                    "the version; with -v also how it was built",
                    {{verbose}, {help_flag}},
                    {}},
        CommandSpec{"help", "[COMMAND]", "this page, or the flags of a command", only_help,
                    command_names},
        CommandSpec{"man", "", "the manual page: tiderace man | man -l -", only_help, {}},
        CommandSpec{"completions", "SHELL", "completions for bash, zsh or fish", only_help,
                    shell_names},
    };
    return all;
}

}  // namespace

std::span<const CommandSpec> commands() {
    return all_commands();
}

const CommandSpec* find_command(std::string_view name) {
    const auto found = std::ranges::find(all_commands(), name, &CommandSpec::name);
    return found == all_commands().end() ? nullptr : &*found;
}

std::span<const ServeFlag> serve_flags() {
    return serve_table;
}

std::string_view group_title(Group group) {
    switch (group) {
        case Group::listening:
            return "Addresses";
        case Group::encryption:
            return "TLS";
        case Group::content:
            return "Files and folders";
        case Group::answers:
            return "Response fields";
        case Group::access:
            return "Access";
        case Group::logging:
            return "Logs";
        case Group::engine:
            return "Threads, engine and caches";
        case Group::limits:
            return "Limits and time-outs";
        case Group::amount:
            return "Amount";
        case Group::request:
            return "Requests";
        case Group::clients:
            return "Clients";
        case Group::expected:
            return "Expected answers";
        case Group::other:
            return "Other";
    }
    return {};
}

}  // namespace tiderace::server
