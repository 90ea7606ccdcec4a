#include "server/flags.h"

#include <algorithm>
#include <array>

#include "server/flag_texts.h"
#include "server/load_flags.h"
#include "server/tls_flags.h"
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
constexpr std::array<std::string_view, 8> command_names{"serve",   "load", "lab", "trust",
                                                        "version", "help", "man", "completions"};
constexpr std::array<std::string_view, 5> lab_command_names{"serve", "engines", "run", "report",
                                                            "help"};

std::size_t engine_index(const ServeOptions& options) {
    const auto found = std::ranges::find(engine_choices, options.engine);
    return static_cast<std::size_t>(found - engine_choices.begin());
}

constexpr Flag help_flag{.name = "help", .letter = 'h', .about = "this page"};

// In the order of the help page. A line that grows over the page's width is wrapped there.
constexpr std::array serve_flags{
    Flag{.name = "listen",
         .letter = 'l',
         .value = "ADDR",
         .group = Group::listening,
         .about = "HOST:PORT, :PORT for all addresses, or unix:PATH",
         .repeatable = true,
         .field = TextField{set_listen, get_listen}},
    Flag{.name = "open",
         .letter = 'o',
         .group = Group::listening,
         .about = "open a browser on the page",
         .field = SwitchField{[](ServeOptions& o) -> bool& { return o.open_browser; }}},
    Flag{.name = "http2",
         .value = "MODE",
         .group = Group::listening,
         .about = "HTTP/2, beside HTTP/1.1 or instead of it",
         .field = ChoiceField{
             http2_names, [](ServeOptions& o, std::size_t i) { o.http2 = static_cast<Http2>(i); },
             [](const ServeOptions& o) { return static_cast<std::size_t>(o.http2); }}},
    Flag{.name = "max-connections",
         .value = "N",
         .group = Group::listening,
         .about = "connections open at once; more get a 503",
         .zero_means = "as descriptors allow",
         .field = CountField{[](ServeOptions& o) -> std::uint64_t& { return o.connections_max; }, 0,
                             10'000'000}},
    Flag{.name = "backlog",
         .value = "N",
         .group = Group::listening,
         .about = "how many may wait to be accepted",
         .unit = "connections",
         .field =
             CountField{[](ServeOptions& o) -> std::uint64_t& { return o.backlog; }, 1, 65'535}},

    Flag{.name = "tls",
         .value = "CERT[,KEY[,OCSP]]",
         .group = Group::encryption,
         .about = "serve https: PEM files, or one with both; OCSP is an answer to staple",
         .repeatable = true,
         .completes = Completes::file,
         .field = TextField{set_tls, get_nothing}},
    Flag{.name = "tls-self-signed",
         .group = Group::encryption,
         .about = "serve https with a certificate made here, for development",
         .field = SwitchField{[](ServeOptions& o) -> bool& { return o.tls.self_signed; }}},
    Flag{.name = "https-redirect",
         .value = "ADDR",
         .group = Group::encryption,
         .about = "listen here in clear text, only to lead to https",
         .repeatable = true,
         .field = TextField{set_https_redirect, get_nothing}},
    Flag{.name = "https-port",
         .value = "PORT",
         .group = Group::encryption,
         .about = "where clients find https, behind a forwarded port",
         .zero_means = "as --listen says",
         .field = CountField{[](ServeOptions& o) -> std::uint64_t& { return o.tls.https_port; }, 1,
                             65'535}},
    Flag{.name = "hsts",
         .value = "TIME",
         .group = Group::encryption,
         .about = "how long browsers come by https only (bare: a year)",
         .zero_means = "not sent",
         .value_if_bare = "365d",
         .field = DurationField{[](ServeOptions& o) -> Duration& { return o.tls.hsts; }}},
    Flag{.name = "tls-client-auth",
         .value = "MODE",
         .group = Group::encryption,
         .about = "ask clients for a certificate",
         .field = ChoiceField{
             client_auth_names,
             [](ServeOptions& o, std::size_t i) { o.tls.client_auth = static_cast<ClientAuth>(i); },
             [](const ServeOptions& o) { return static_cast<std::size_t>(o.tls.client_auth); }}},
    Flag{.name = "tls-client-ca",
         .value = "FILE",
         .group = Group::encryption,
         .about = "who may have signed it (PEM)",
         .completes = Completes::file,
         .field = TextField{set_client_ca, get_nothing}},

    Flag{.name = "index",
         .value = "NAMES",
         .group = Group::content,
         .about = "files that stand for their folder: a.html,b.html; or none",
         .field = TextField{set_index, get_index}},
    Flag{.name = "listing",
         .group = Group::content,
         .about = "list folders that have no index file",
         .field = SwitchField{[](ServeOptions& o) -> bool& { return o.listing; }}},
    Flag{.name = "spa",
         .value = "FILE",
         .group = Group::content,
         .about = "FILE where nothing is found (bare: index.html)",
         .value_if_bare = "index.html",
         .field = TextField{set_spa, get_nothing}},
    Flag{.name = "clean-urls",
         .group = Group::content,
         .about = "find about.html as /about",
         .field = SwitchField{[](ServeOptions& o) -> bool& { return o.clean_urls; }}},
    Flag{.name = "error-page",
         .value = "CODE=FILE",
         .group = Group::content,
         .about = "the page of an error: 404=404.html",
         .repeatable = true,
         .field = TextField{set_error_page, get_nothing}},
    Flag{.name = "mime",
         .value = "EXT=TYPE",
         .group = Group::content,
         .about = "a type to know: glb=model/gltf-binary",
         .repeatable = true,
         .field = TextField{set_mime, get_nothing}},
    Flag{.name = "no-precompressed",
         .group = Group::content,
         .about = "leave .br, .zst and .gz siblings alone",
         .field = SwitchField{[](ServeOptions& o) -> bool& { return o.precompressed; }, false}},
    Flag{.name = "compress",
         .value = "CODINGS",
         .group = Group::content,
         .about = "compress for those who accept it: auto, off, or some of br,zstd,gzip",
         .field = TextField{set_compress, get_compress}},
    Flag{.name = "compress-min",
         .value = "SIZE",
         .group = Group::content,
         .about = "smallest body to compress",
         .field =
             BytesField{[](ServeOptions& o) -> std::uint64_t& { return o.compress.bytes_min; }}},
    Flag{.name = "compress-max",
         .value = "SIZE",
         .group = Group::content,
         .about = "largest file to compress",
         .field =
             BytesField{[](ServeOptions& o) -> std::uint64_t& { return o.compress.file_bytes_max; },
                        0, 256_MiB}},
    Flag{.name = "compress-cache",
         .value = "DIR",
         .group = Group::content,
         .about = "keep compressed files in DIR over a restart",
         .completes = Completes::directory,
         .field = TextField{set_compress_cache, get_nothing}},
    Flag{.name = "hidden",
         .group = Group::content,
         .about = "serve names that begin with a dot, too",
         .field = SwitchField{[](ServeOptions& o) -> bool& { return o.hidden_files; }}},
    Flag{.name = "symlinks",
         .value = "POLICY",
         .group = Group::content,
         .about = "which links may lead on",
         .field = ChoiceField{
             symlink_names,
             [](ServeOptions& o, std::size_t i) { o.symlinks = static_cast<SymlinkPolicy>(i); },
             [](const ServeOptions& o) { return static_cast<std::size_t>(o.symlinks); }}},

    Flag{.name = "cache-control",
         .value = "PATTERN=VALUE",
         .group = Group::answers,
         .about = "Cache-Control of the matching paths: '*.css=max-age=3600'; the first match wins",
         .repeatable = true,
         .field = TextField{set_cache_control, get_nothing}},
    Flag{.name = "header",
         .value = "NAME:VALUE",
         .group = Group::answers,
         .about = "a field for every answer",
         .repeatable = true,
         .field = TextField{set_header, get_nothing}},
    Flag{.name = "cors",
         .value = "ORIGIN",
         .group = Group::answers,
         .about = "let other sites' scripts read (bare: all sites)",
         .value_if_bare = "*",
         .field = TextField{set_cors, get_nothing}},
    Flag{.name = "no-server-header",
         .group = Group::answers,
         .about = "leave out the Server field",
         .field = SwitchField{[](ServeOptions& o) -> bool& { return o.server_header; }, false}},
    Flag{.name = "about",
         .group = Group::answers,
         .about = "tell version, engine and loops at /.well-known/tiderace.json",
         .field = SwitchField{[](ServeOptions& o) -> bool& { return o.about; }}},

    Flag{.name = "basic-auth",
         .value = "USER:PASSWORD|FILE",
         .group = Group::access,
         .about = "ask for a name and password; FILE has htpasswd lines (bcrypt, SHA-2, yescrypt)",
         .repeatable = true,
         .completes = Completes::file,
         .field = TextField{set_basic_auth, get_nothing}},

    Flag{.name = "access-log",
         .value = "FILE|-|off",
         .group = Group::logging,
         .about = "a line per request; - is standard output",
         .completes = Completes::file,
         .field = TextField{set_access_log, get_access_log}},
    Flag{.name = "log-format",
         .value = "FORMAT",
         .group = Group::logging,
         .about = "form of these lines",
         .field = ChoiceField{
             log_format_names,
             [](ServeOptions& o, std::size_t i) { o.log_format = static_cast<LogFormat>(i); },
             [](const ServeOptions& o) { return static_cast<std::size_t>(o.log_format); }}},
    Flag{.name = "log-level",
         .value = "LEVEL",
         .group = Group::logging,
         .about = "how much the server tells",
         .field = ChoiceField{
             log_level_names,
             [](ServeOptions& o, std::size_t i) { o.log_level = static_cast<LogLevel>(i); },
             [](const ServeOptions& o) { return static_cast<std::size_t>(o.log_level); }}},
    Flag{.name = "log-flush",
         .value = "TIME",
         .group = Group::logging,
         .about = "longest wait of a line",
         .field = DurationField{[](ServeOptions& o) -> Duration& { return o.log_flush_interval; }}},
    Flag{.name = "log-rotate",
         .value = "SIZE",
         .group = Group::logging,
         .about = "begin a new file at this size",
         .zero_means = "never",
         .field = BytesField{[](ServeOptions& o) -> std::uint64_t& { return o.log_rotate_bytes; }}},
    Flag{.name = "quiet",
         .letter = 'q',
         .group = Group::logging,
         .about = "print nothing at start",
         .field = SwitchField{[](ServeOptions& o) -> bool& { return o.quiet; }}},

    Flag{.name = "threads",
         .letter = 't',
         .value = "N",
         .group = Group::engine,
         .about = "event loops, a thread each",
         .zero_means = "one per CPU",
         .field = CountField{[](ServeOptions& o) -> std::uint64_t& { return o.threads; }, 0, 1024}},
    Flag{.name = "engine",
         .value = "NAME",
         .group = Group::engine,
         .about = "how a loop asks the kernel",
         .field = ChoiceField{engine_choices,
                              [](ServeOptions& o, std::size_t i) { o.engine = engine_choices[i]; },
                              engine_index, systems_of_engine}},
    Flag{.name = "accept",
         .value = "MODE",
         .group = Group::engine,
         .about = "who takes new connections",
         .field = ChoiceField{
             accept_names,
             [](ServeOptions& o, std::size_t i) { o.accept = static_cast<AcceptMode>(i); },
             [](const ServeOptions& o) { return static_cast<std::size_t>(o.accept); }}},
    Flag{.name = "user",
         .value = "NAME[:GROUP]",
         .group = Group::engine,
         .about = "run as this user once ports and files are open; root without it: as nobody",
         .field = TextField{set_user, get_nothing}},
    Flag{.name = "cache",
         .value = "SIZE",
         .group = Group::engine,
         .about = "memory for files, per loop; those being sent may take 64 MiB more",
         .field = BytesField{[](ServeOptions& o) -> std::uint64_t& { return o.cache.bytes_max; }}},
    Flag{.name = "cache-file-max",
         .value = "SIZE",
         .group = Group::engine,
         .about = "largest file that the cache holds",
         .field =
             BytesField{[](ServeOptions& o) -> std::uint64_t& { return o.cache.file_bytes_max; }}},
    Flag{.name = "cache-check",
         .value = "TIME",
         .group = Group::engine,
         .about = "how often a cached file is compared with the disk",
         .field = DurationField{[](ServeOptions& o) -> Duration& { return o.cache.revalidate; }}},
    Flag{.name = "small-copy-max",
         .value = "SIZE",
         .group = Group::engine,
         .about = "largest file sent in one piece with its header",
         .field = BytesField{[](ServeOptions& o) -> std::uint64_t& {
             return o.cache.small_copy_bytes_max;
         }}},
    Flag{.name = "sendfile-min",
         .value = "SIZE",
         .group = Group::engine,
         .about = "smallest uncached file to go by sendfile",
         .field = BytesField{[](ServeOptions& o) -> std::uint64_t& {
             return o.cache.sendfile_bytes_min;
         }}},

    Flag{.name = "header-timeout",
         .value = "TIME",
         .group = Group::limits,
         .about = "for a whole request head",
         .zero_means = "none",
         .field = DurationField{[](ServeOptions& o) -> Duration& { return o.timeouts.header; }}},
    Flag{.name = "body-timeout",
         .value = "TIME",
         .group = Group::limits,
         .about = "while a request body stalls",
         .zero_means = "none",
         .field = DurationField{[](ServeOptions& o) -> Duration& { return o.timeouts.body; }}},
    Flag{.name = "write-timeout",
         .value = "TIME",
         .group = Group::limits,
         .about = "while an answer stalls",
         .zero_means = "none",
         .field = DurationField{[](ServeOptions& o) -> Duration& { return o.timeouts.write; }}},
    Flag{.name = "idle-timeout",
         .value = "TIME",
         .group = Group::limits,
         .about = "between two requests",
         .zero_means = "none",
         .field = DurationField{[](ServeOptions& o) -> Duration& { return o.timeouts.idle; }}},
    Flag{.name = "drain-timeout",
         .value = "TIME",
         .group = Group::limits,
         .about = "for running answers at the end",
         .field = DurationField{[](ServeOptions& o) -> Duration& { return o.timeouts.drain; }}},
    Flag{.name = "min-receive-rate",
         .value = "RATE",
         .group = Group::limits,
         .about = "a slower sender is cut off",
         .zero_means = "off",
         .unit = "bytes/s",
         .field = BytesField{[](ServeOptions& o) -> std::uint64_t& {
             return o.minimum_rates.receive_bytes_per_second;
         }}},
    Flag{.name = "min-send-rate",
         .value = "RATE",
         .group = Group::limits,
         .about = "a slower reader is cut off",
         .zero_means = "off",
         .unit = "bytes/s",
         .field = BytesField{[](ServeOptions& o) -> std::uint64_t& {
             return o.minimum_rates.send_bytes_per_second;
         }}},
    Flag{.name = "max-line",
         .value = "SIZE",
         .group = Group::limits,
         .about = "longest request line; longer is 414",
         .field =
             BytesField{[](ServeOptions& o) -> std::uint64_t& { return o.limits.line_bytes_max; },
                        64, 1_MiB}},
    Flag{.name = "max-head",
         .value = "SIZE",
         .group = Group::limits,
         .about = "largest request head; larger is 431",
         .field =
             BytesField{[](ServeOptions& o) -> std::uint64_t& { return o.limits.head_bytes_max; },
                        256, 16_MiB}},
    Flag{.name = "max-fields",
         .value = "N",
         .group = Group::limits,
         .about = "most fields in a request head; more is 431",
         .unit = "fields",
         .field =
             CountField{[](ServeOptions& o) -> std::uint64_t& { return o.limits.field_count_max; },
                        1, 10'000}},
    Flag{.name = "max-body",
         .value = "SIZE",
         .group = Group::limits,
         .about = "largest request body; larger is 413",
         .field =
             BytesField{[](ServeOptions& o) -> std::uint64_t& { return o.limits.body_bytes_max; }}},
    Flag{.name = "send-buffer-max",
         .value = "SIZE",
         .group = Group::limits,
         .about = "unsent answers of a loop; those who left most are cut",
         .field =
             BytesField{[](ServeOptions& o) -> std::uint64_t& { return o.limits.send_bytes_max; },
                        1_MiB}},

    help_flag,
};

constexpr std::array version_flags{
    Flag{.name = "verbose", .letter = 'v', .about = "also how it was built"},
    help_flag,
};

constexpr std::array only_help{help_flag};

// Not constexpr: the flags of load are a table of another file.
const std::array<CommandSpec, 8>& all_commands() {
    static const std::array<CommandSpec, 8> all{
        CommandSpec{"serve",
                    "[DIR]",
                    "serve a folder; the current one when none is named",
                    serve_flags,
                    {}},
        CommandSpec{
            "load", "URL", "load a server of yours, and tell how it bears it", load_flags(), {}},
        CommandSpec{"lab", "COMMAND", "compare ways of building a server: tiderace lab help",
                    only_help, lab_command_names},
        CommandSpec{"trust", "", "how to make this machine trust --tls-self-signed", only_help, {}},
        CommandSpec{"version", "", "the version; with -v also how it was built", version_flags, {}},
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

std::string_view group_title(Group group) {
    switch (group) {
        case Group::listening:
            return "Where it listens";
        case Group::encryption:
            return "How it is encrypted";
        case Group::content:
            return "What it serves";
        case Group::answers:
            return "What it adds to answers";
        case Group::access:
            return "Who may read";
        case Group::logging:
            return "What it writes down";
        case Group::engine:
            return "How it runs";
        case Group::limits:
            return "What it puts up with";
        case Group::amount:
            return "How much";
        case Group::request:
            return "What is asked";
        case Group::clients:
            return "What the clients are like";
        case Group::expected:
            return "What is right";
        case Group::other:
            return "Other";
    }
    return {};
}

}  // namespace tiderace::server
