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
    const auto length = parse_number<std::uint64_t>(value);
    if (!length) return std::unexpected("expects a number of bytes");
    options.expect_length = *length;
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

// In the order of the help page.
constexpr std::array flags{
    LoadFlag{{.name = "connections",
              .letter = 'c',
              .group = Group::amount,
              .about = "connections open at once"},
             LoadFlag::Count{place<&LoadOptions::connections>, 1, 10'000'000}},
    LoadFlag{{.name = "duration",
              .letter = 'd',
              .about = "how long",
              .unset_means = "10s, or until --requests are answered"},
             LoadFlag::Time{place<&LoadOptions::duration>}},
    LoadFlag{{.name = "requests",
              .letter = 'n',
              .about = "how many requests in all",
              .unset_means = "as many as there is time for"},
             LoadFlag::Count{place<&LoadOptions::requests>, 0, 1'000'000'000'000}},
    LoadFlag{{.name = "rate",
              .letter = 'r',
              .about = "open loop: requests a second, whatever the answers take",
              .unset_means = "closed loop: each answer brings the next request"},
             LoadFlag::Count{place<&LoadOptions::rate>, 0, 100'000'000}},

    LoadFlag{{.name = "ramp",
              .about = "the time to reach all connections (with --rate: the full rate)",
              .unset_means = "none"},
             LoadFlag::Time{place<&LoadOptions::ramp>}},

    LoadFlag{{.name = "http",
              .value = "VERSION",
              .group = Group::request,
              .about = "the version of HTTP; 2 without TLS by prior knowledge"},
             choice_of<&LoadOptions::http>(http_names)},
    LoadFlag{{.name = "method", .value = "NAME", .about = "the method (with a body: POST)"},
             LoadFlag::Choice{method_names,
                              [](LoadOptions& o, std::size_t i) { o.method = method_names[i]; },
                              [](const LoadOptions& o) {
                                  const auto found = std::ranges::find(method_names, o.verb());
                                  return static_cast<std::size_t>(found - method_names.begin());
                              }}},
    LoadFlag{{.name = "header",
              .letter = 'H',
              .value = "NAME:VALUE",
              .about = "a field for every request; Host: in place of the URL's",
              .repeatable = true},
             LoadFlag::Text{add_field}},
    LoadFlag{{.name = "body",
              .value = "FILE",
              .about = "the contents of FILE as the body of each request",
              .completes = Completes::file},
             LoadFlag::Text{take_text<&LoadOptions::body_file>}},
    LoadFlag{{.name = "body-size",
              .about = "a generated body of this size for each request",
              .unset_means = "none"},
             LoadFlag::Size{place<&LoadOptions::body_bytes>, 0, 256_MiB}},
    LoadFlag{{.name = "close", .about = "a connection for each request"},
             LoadFlag::Switch{place<&LoadOptions::close>}},
    LoadFlag{{.name = "pipeline", .letter = 'p', .about = "requests under way on each connection"},
             LoadFlag::Count{place<&LoadOptions::pipeline>, 1, 1'000}},
    LoadFlag{{.name = "streams", .about = "requests under way on each connection of HTTP/2"},
             LoadFlag::Count{place<&LoadOptions::streams>, 1, 1'000}},

    LoadFlag{{.name = "insecure",
              .letter = 'k',
              .group = Group::encryption,
              .about = "https: do not verify the server's certificate"},
             LoadFlag::Switch{place<&LoadOptions::insecure>}},
    LoadFlag{{.name = "ca",
              .value = "FILE",
              .about = "https: certificates of authorities to trust, PEM",
              .completes = Completes::file},
             LoadFlag::Text{take_text<&LoadOptions::ca>}},
    LoadFlag{{.name = "resume",
              .about = "https: resume sessions (otherwise each handshake is a full one)"},
             LoadFlag::Switch{place<&LoadOptions::resume>}},

    LoadFlag{{.name = "think",
              .group = Group::clients,
              .about = "pause after each answer",
              .unset_means = "none"},
             LoadFlag::Time{place<&LoadOptions::think>}},
    LoadFlag{{.name = "slow-readers",
              .value = "PERCENT",
              .about = "connections that read slowly; reported with a latency of their own"},
             LoadFlag::Count{place<&LoadOptions::slow_readers>, 0, 100}},
    LoadFlag{{.name = "slow-rate", .about = "what a slow reader reads in a second"},
             LoadFlag::Size{place<&LoadOptions::slow_rate>, 1, 1_GiB}},
    LoadFlag{{.name = "slow-senders",
              .value = "PERCENT",
              .about = "connections that send slowly; reported with a latency of their own"},
             LoadFlag::Count{place<&LoadOptions::slow_senders>, 0, 100}},
    LoadFlag{{.name = "slow-send-rate", .about = "what a slow sender sends in a second"},
             LoadFlag::Size{place<&LoadOptions::slow_send_rate>, 1, 1_GiB}},
    LoadFlag{{.name = "slow-drips",
              .value = "PART",
              .about = "the part of a request that a slow sender sends slowly"},
             choice_of<&LoadOptions::slow_drips>(drip_names)},
    LoadFlag{{.name = "source-addresses",
              .about = "addresses in 127/8 to come from",
              .unset_means = "as the ports need"},
             LoadFlag::Count{place<&LoadOptions::source_addresses>, 0, 65'536}},
    LoadFlag{{.name = "timeout",
              .about = "longest wait for a connection, and without a byte of an answer"},
             LoadFlag::Time{place<&LoadOptions::timeout>}},
    LoadFlag{{.name = "i-own-this-host", .about = "put another machine under load, which is yours"},
             LoadFlag::Switch{place<&LoadOptions::i_own_this_host>}},

    LoadFlag{{.name = "expect-status",
              .value = "CODE",
              .group = Group::expected,
              .about = "the status of a right answer"},
             // A 1xx is no answer: the final one follows it (RFC 9110, 15.2).
             LoadFlag::Count{place<&LoadOptions::expect_status>, 200, 999}},
    LoadFlag{{.name = "expect-length",
              .value = "BYTES",
              .about = "the length of its body (otherwise the first answer's)"},
             LoadFlag::Text{set_length}},
    LoadFlag{{.name = "check-hash",
              .value = "CRC32",
              .about = "compare the bodies, too (bare: with the first one)",
              .value_if_bare = "first"},
             LoadFlag::Text{set_hash}},

    LoadFlag{{.name = "threads",
              .letter = 't',
              .group = Group::engine,
              .about = "loops of the load, a thread each (of each process)",
              .unset_means = "half of the CPUs"},
             LoadFlag::Count{place<&LoadOptions::threads>, 0, 1024}},
    LoadFlag{
        {.name = "processes",
         .about = "processes of the load, each with --threads and its own limit on open files"},
        LoadFlag::Count{place<&LoadOptions::processes>, 1, 64}},
    LoadFlag{{.name = "engine", .value = "NAME", .about = "how a loop asks the kernel"},
             engine_choice<LoadOptions>()},
    LoadFlag{{.name = "server-pid",
              .value = "PID",
              .about = "the process whose CPU and memory are reported",
              .unset_means = "the process that listens there"},
             LoadFlag::Count{place<&LoadOptions::server_pid>, 0, 1'000'000'000}},
    LoadFlag{{.name = "json", .about = "the report as JSON, one line"},
             LoadFlag::Switch{place<&LoadOptions::json>}},

    LoadFlag{help_flag, NoField{}},
};

}  // namespace

std::span<const LoadFlag> load_flags() {
    return flags;
}

}  // namespace tiderace::server
