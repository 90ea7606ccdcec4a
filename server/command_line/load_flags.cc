#include "server/command_line/load_flags.h"

#include <algorithm>
#include <array>
#include <charconv>

#include "server/version.h"
#include "tiderace/http/wire/field_syntax.h"

namespace tiderace::server {
namespace {

using load::LoadOptions;

constexpr std::array<std::string_view, 7> method_names{"GET",   "HEAD",   "POST",   "PUT",
                                                       "PATCH", "DELETE", "OPTIONS"};
constexpr std::array<std::string_view, 3> http_names{"1.0", "1.1", "2"};
constexpr std::array<std::string_view, 3> drip_names{"all", "head", "body"};
constexpr std::array http_versions{load::LoadHttp::v1_0, load::LoadHttp::v1_1, load::LoadHttp::v2};
constexpr std::array drips{load::LoadDrips::all, load::LoadDrips::head, load::LoadDrips::body};

// A broken field would make every answer of the run a 400, and measure error pages.
Applied add_field(LoadOptions& options, std::string_view value) {
    const std::size_t colon = value.find(':');
    const std::string_view name = value.substr(0, std::min(colon, value.size()));
    if (colon == value.npos || !http::wire::is_token(name) ||
        !http::wire::is_field_value(value.substr(colon + 1))) {
        return std::unexpected("expects NAME:VALUE, for example Accept-Encoding:gzip");
    }
    for (const std::string_view ours : {"connection", "content-length", "transfer-encoding"}) {
        if (equals_ignoring_case(name, ours)) {
            return std::unexpected("this field is decided by the other flags");
        }
    }
    const std::string_view text = trim_ows(value.substr(colon + 1));
    if (equals_ignoring_case(name, "Host")) {
        if (options.host) return std::unexpected("a request has one Host");
        options.host = text;
        return {};
    }
    options.fields.push_back(std::string(name) + ": " + std::string(text));
    return {};
}

Applied set_length(LoadOptions& options, std::string_view value) {
    std::uint64_t length = 0;
    const auto [end, failure] = std::from_chars(value.data(), value.data() + value.size(), length);
    if (failure != std::errc{} || end != value.data() + value.size()) {
        return std::unexpected("expects a number of bytes");
    }
    options.expect_length = length;
    return {};
}

Applied set_hash(LoadOptions& options, std::string_view value) {
    options.check_hash = true;
    // The first answer's body is what the others are compared with.
    if (value == "first") return {};
    std::uint32_t hash = 0;
    const auto [end, failure] =
        std::from_chars(value.data(), value.data() + value.size(), hash, 16);
    // Eight digits always: a shorter one is more likely cut off than meant.
    if (value.size() != 8 || failure != std::errc{} || end != value.data() + value.size()) {
        return std::unexpected("expects a CRC-32 of eight hexadecimal digits, or first");
    }
    options.expect_hash = hash;
    return {};
}

Applied set_body_file(LoadOptions& options, std::string_view value) {
    options.body_file = value;
    return {};
}

Applied set_ca(LoadOptions& options, std::string_view value) {
    options.ca = value;
    return {};
}

template <std::size_t count>
std::size_t index_in(const std::array<std::string_view, count>& names, std::string_view name) {
    return static_cast<std::size_t>(std::ranges::find(names, name) - names.begin());
}

std::size_t engine_index(const LoadOptions& options) {
    const auto found = std::ranges::find(engine_choices, options.engine);
    return static_cast<std::size_t>(found - engine_choices.begin());
}

// In the order of the help page.
constexpr std::array flags{
    LoadFlag{{.name = "connections",
              .letter = 'c',
              .value = "N",
              .group = Group::amount,
              .about = "connections open at once"},
             LoadFlag::Count{[](LoadOptions& o) -> std::uint64_t& { return o.connections; }, 1,
                             10'000'000}},
    LoadFlag{{.name = "duration",
              .letter = 'd',
              .value = "TIME",
              .group = Group::amount,
              .about = "how long",
              .unset_means = "10s, or until --requests are answered"},
             LoadFlag::Time{[](LoadOptions& o) -> Duration& { return o.duration; }}},
    LoadFlag{{.name = "requests",
              .letter = 'n',
              .value = "N",
              .group = Group::amount,
              .about = "how many requests in all",
              .unset_means = "as many as there is time for"},
             LoadFlag::Count{[](LoadOptions& o) -> std::uint64_t& { return o.requests; }, 0,
                             1'000'000'000'000}},
    LoadFlag{
        {.name = "rate",
         .letter = 'r',
         .value = "N",
         .group = Group::amount,
         .about = "open loop: requests a second, whatever the answers take",
         .unset_means = "closed loop: each answer brings the next request"},
        LoadFlag::Count{[](LoadOptions& o) -> std::uint64_t& { return o.rate; }, 0, 100'000'000}},

    LoadFlag{{.name = "ramp",
              .value = "TIME",
              .group = Group::amount,
              .about = "the time to reach all connections (with --rate: the full rate)",
              .unset_means = "none"},
             LoadFlag::Time{[](LoadOptions& o) -> Duration& { return o.ramp; }}},

    LoadFlag{{.name = "http",
              .value = "VERSION",
              .group = Group::request,
              .about = "the version of HTTP; 2 without TLS by prior knowledge"},
             LoadFlag::Choice{
                 http_names, [](LoadOptions& o, std::size_t i) { o.http = http_versions[i]; },
                 [](const LoadOptions& o) { return index_in(http_names, to_string(o.http)); }}},
    LoadFlag{{.name = "method",
              .value = "NAME",
              .group = Group::request,
              .about = "the method (with a body: POST)"},
             LoadFlag::Choice{
                 method_names, [](LoadOptions& o, std::size_t i) { o.method = method_names[i]; },
                 [](const LoadOptions& o) { return index_in(method_names, o.verb()); }}},
    LoadFlag{{.name = "header",
              .letter = 'H',
              .value = "NAME:VALUE",
              .group = Group::request,
              .about = "a field for every request; Host: in place of the URL's",
              .repeatable = true},
             LoadFlag::Text{add_field}},
    LoadFlag{{.name = "body",
              .value = "FILE",
              .group = Group::request,
              .about = "the contents of FILE as the body of each request",
              .completes = Completes::file},
             LoadFlag::Text{set_body_file}},
    LoadFlag{
        {.name = "body-size",
         .value = "SIZE",
         .group = Group::request,
         .about = "a generated body of this size for each request",
         .unset_means = "none"},
        LoadFlag::Size{[](LoadOptions& o) -> std::uint64_t& { return o.body_bytes; }, 0, 256_MiB}},
    LoadFlag{{.name = "close", .group = Group::request, .about = "a connection for each request"},
             LoadFlag::Switch{[](LoadOptions& o) -> bool& { return o.close; }}},
    LoadFlag{
        {.name = "pipeline",
         .letter = 'p',
         .value = "N",
         .group = Group::request,
         .about = "requests under way on each connection"},
        LoadFlag::Count{[](LoadOptions& o) -> std::uint64_t& { return o.pipeline; }, 1, 1'000}},
    LoadFlag{{.name = "streams",
              .value = "N",
              .group = Group::request,
              .about = "requests under way on each connection of HTTP/2"},
             LoadFlag::Count{[](LoadOptions& o) -> std::uint64_t& { return o.streams; }, 1, 1'000}},

    LoadFlag{{.name = "insecure",
              .letter = 'k',
              .group = Group::encryption,
              .about = "https: do not verify the server's certificate"},
             LoadFlag::Switch{[](LoadOptions& o) -> bool& { return o.insecure; }}},
    LoadFlag{{.name = "ca",
              .value = "FILE",
              .group = Group::encryption,
              .about = "https: certificates of authorities to trust, PEM",
              .completes = Completes::file},
             LoadFlag::Text{set_ca}},
    LoadFlag{{.name = "resume",
              .group = Group::encryption,
              .about = "https: resume sessions (otherwise each handshake is a full one)"},
             LoadFlag::Switch{[](LoadOptions& o) -> bool& { return o.resume; }}},

    LoadFlag{{.name = "think",
              .value = "TIME",
              .group = Group::clients,
              .about = "pause after each answer",
              .unset_means = "none"},
             LoadFlag::Time{[](LoadOptions& o) -> Duration& { return o.think; }}},
    LoadFlag{
        {.name = "slow-readers",
         .value = "PERCENT",
         .group = Group::clients,
         .about = "connections that read slowly; reported with a latency of their own"},
        LoadFlag::Count{[](LoadOptions& o) -> std::uint64_t& { return o.slow_readers; }, 0, 100}},
    LoadFlag{
        {.name = "slow-rate",
         .value = "SIZE",
         .group = Group::clients,
         .about = "what a slow reader reads in a second"},
        LoadFlag::Size{[](LoadOptions& o) -> std::uint64_t& { return o.slow_rate; }, 1, 1_GiB}},
    LoadFlag{
        {.name = "slow-senders",
         .value = "PERCENT",
         .group = Group::clients,
         .about = "connections that send slowly; reported with a latency of their own"},
        LoadFlag::Count{[](LoadOptions& o) -> std::uint64_t& { return o.slow_senders; }, 0, 100}},
    LoadFlag{{.name = "slow-send-rate",
              .value = "SIZE",
              .group = Group::clients,
              .about = "what a slow sender sends in a second"},
             LoadFlag::Size{[](LoadOptions& o) -> std::uint64_t& { return o.slow_send_rate; }, 1,
                            1_GiB}},
    LoadFlag{
        {.name = "slow-drips",
         .value = "PART",
         .group = Group::clients,
         .about = "the part of a request that a slow sender sends slowly"},
        LoadFlag::Choice{
            drip_names, [](LoadOptions& o, std::size_t i) { o.slow_drips = drips[i]; },
            [](const LoadOptions& o) { return index_in(drip_names, to_string(o.slow_drips)); }}},
    LoadFlag{{.name = "source-addresses",
              .value = "N",
              .group = Group::clients,
              .about = "addresses in 127/8 to come from",
              .unset_means = "as the ports need"},
             LoadFlag::Count{[](LoadOptions& o) -> std::uint64_t& { return o.source_addresses; }, 0,
                             65'536}},
    LoadFlag{{.name = "timeout",
              .value = "TIME",
              .group = Group::clients,
              .about = "longest wait for a connection, and without a byte of an answer"},
             LoadFlag::Time{[](LoadOptions& o) -> Duration& { return o.timeout; }}},
    LoadFlag{{.name = "i-own-this-host",
              .group = Group::clients,
              .about = "put another machine under load, which is yours"},
             LoadFlag::Switch{[](LoadOptions& o) -> bool& { return o.i_own_this_host; }}},

    LoadFlag{{.name = "expect-status",
              .value = "CODE",
              .group = Group::expected,
              .about = "the status of a right answer"},
             // A 1xx is no answer: the final one follows it (RFC 9110, 15.2).
             LoadFlag::Count{[](LoadOptions& o) -> std::uint64_t& { return o.expect_status; }, 200,
                             999}},
    LoadFlag{{.name = "expect-length",
              .value = "BYTES",
              .group = Group::expected,
              .about = "the length of its body (otherwise the first answer's)"},
             LoadFlag::Text{set_length}},
    LoadFlag{{.name = "check-hash",
              .value = "CRC32",
              .group = Group::expected,
              .about = "compare the bodies, too (bare: with the first one)",
              .value_if_bare = "first"},
             LoadFlag::Text{set_hash}},

    LoadFlag{{.name = "threads",
              .letter = 't',
              .value = "N",
              .group = Group::engine,
              .about = "loops of the load, a thread each (of each process)",
              .unset_means = "half of the CPUs"},
             LoadFlag::Count{[](LoadOptions& o) -> std::uint64_t& { return o.threads; }, 0, 1024}},
    LoadFlag{
        {.name = "processes",
         .value = "N",
         .group = Group::engine,
         .about = "processes of the load, each with --threads and its own limit on open files"},
        LoadFlag::Count{[](LoadOptions& o) -> std::uint64_t& { return o.processes; }, 1, 64}},
    LoadFlag{{.name = "engine",
              .value = "NAME",
              .group = Group::engine,
              .about = "how a loop asks the kernel"},
             LoadFlag::Choice{engine_choices,
                              [](LoadOptions& o, std::size_t i) { o.engine = engine_choices[i]; },
                              engine_index, systems_of_engine}},
    LoadFlag{{.name = "server-pid",
              .value = "PID",
              .group = Group::engine,
              .about = "the process whose CPU and memory are reported",
              .unset_means = "the process that listens there"},
             LoadFlag::Count{[](LoadOptions& o) -> std::uint64_t& { return o.server_pid; }, 0,
                             1'000'000'000}},
    LoadFlag{{.name = "json", .group = Group::engine, .about = "the report as JSON, one line"},
             LoadFlag::Switch{[](LoadOptions& o) -> bool& { return o.json; }}},

    LoadFlag{{.name = "help", .letter = 'h', .about = "this page"}, NoField{}},
};

}  // namespace

std::span<const LoadFlag> load_flags() {
    return flags;
}

}  // namespace tiderace::server
