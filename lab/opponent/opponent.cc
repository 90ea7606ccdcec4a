#include "lab/opponent/opponent.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <ranges>

#include "lab/opponent/launches.h"

namespace tiderace::lab {
namespace {

using std::string_view;
using Words = std::array<string_view, 1>;

constexpr Words evhttp_program{"tiderace-lab-evhttp"};
constexpr Words asio_program{"tiderace-lab-asio-http"};
constexpr Words floor_program{"tiderace-lab-floor"};
constexpr Words nginx_program{"nginx"};
constexpr Words lighttpd_program{"lighttpd"};
constexpr Words h2o_program{"h2o"};
constexpr std::array<string_view, 2> apache_programs{"apache2", "httpd"};
constexpr Words caddy_program{"caddy"};
constexpr Words haproxy_program{"haproxy"};
constexpr Words long_version{"--version"};
constexpr Words short_version{"-v"};
constexpr Words word_version{"version"};
// EADDRINUSE, as they all spell it, with a large or a small letter.
constexpr string_view in_use = "ddress already in use";
constexpr int attempts_max = 3;  // one lost race is chance, three are something else
constexpr Duration version_patience = 3s;

constexpr std::array table{
    Opponent{
        .name = "evhttp",
        .what =
            "libevent's own HTTP server, one event_base and one listener for each thread. It "
            "is libevent used in the simplest way, with a callback: headers are lists of "
            "copied strings, bodies go through evbuffers. Files go as in libevent's example: they "
            "are mapped, and copied out 16 KiB at a time.",
        .programs = evhttp_program,
        .version_words = long_version,
        .launch = opponent::launch_evhttp,
    },
    Opponent{
        .name = "evhttp-sendfile",
        .what = "libevent's HTTP server again, tuned. The buffer of an answer is "
                "marked as ending in a socket, so that files go by sendfile, and a write may take "
                "1 MiB at a time. Small files are read next to their head in both.",
        .programs = evhttp_program,
        .version_words = long_version,
        .launch = opponent::launch_evhttp_sendfile,
    },
    Opponent{
        .name = "asio-http",
        .what = "The shape of Asio's example HTTP Server 3: one io_context that all threads run, "
                "with a strand for each connection. Requests are parsed a character at a time, and "
                "each file is read into memory for each request. The example closes after every "
                "answer; here it may also keep the connection.",
        .programs = asio_program,
        .version_words = long_version,
        .launch = opponent::launch_asio_http,
    },
    Opponent{
        .name = "nginx",
        .what = "The server that most of the web is measured by: processes, each with one event "
                "loop. Requests go through phases in which modules take part. Open files are "
                "cached here, and sent by sendfile behind a corked head.",
        .programs = nginx_program,
        .version_words = short_version,
        .launch = opponent::launch_nginx,
    },
    Opponent{
        .name = "lighttpd",
        .what = "A small server with one process and one event loop. Connections are state "
                "machines that are run when their socket is ready. Files go by sendfile from "
                "descriptors that its stat cache keeps.",
        .programs = lighttpd_program,
        .version_words = short_version,
        .launch = opponent::launch_lighttpd,
    },
    Opponent{
        .name = "h2o",
        .what = "A server built for HTTP/2, with one event loop for each thread. Requests are "
                "parsed by picohttpparser with SIMD, and allocate from a pool of their own. Files "
                "are read in pieces and written, with a cache of open ones.",
        .programs = h2o_program,
        .version_words = short_version,
        .launch = opponent::launch_h2o,
    },
    Opponent{
        .name = "apache",
        .what = "Apache httpd with the event MPM: a listener thread hands ready connections to a "
                "pool of worker threads, which read, handle and write one request by blocking "
                "calls and give the connection back. Files go by sendfile through its chain of "
                "filters. While no worker is free it closes kept connections, so it has one here "
                "for each client, up to 1,024.",
        .programs = apache_programs,
        .version_words = short_version,
        .launch = opponent::launch_apache,
    },
    Opponent{
        .name = "caddy",
        .what = "A server in Go: a goroutine for each connection, which the runtime parks while "
                "it waits for the network. Requests are net/http's, passed through handlers that "
                "are configured as JSON. The number of threads that run goroutines is bounded as "
                "the number of workers of the other servers is.",
        .programs = caddy_program,
        .version_words = word_version,
        .launch = opponent::launch_caddy,
    },
    Opponent{
        .name = "haproxy",
        .what = "A proxy without a backend: it gives one fixed answer from its "
                "memory. It shows the cost of parsing, rules and writing in one of the "
                "fastest HTTP engines there is. It serves no files, and the answer has to fit its "
                "buffer.",
        .serves_files = false,
        .answer_bytes_max = opponent::haproxy_answer_bytes_max,
        .programs = haproxy_program,
        .version_words = short_version,
        .launch = opponent::launch_haproxy,
    },
    Opponent{
        .name = "floor",
        .what = "The least that a server can do: it reads whatever came and sends one answer "
                "from memory, head and body in one call. It parses nothing, checks nothing, keeps "
                "no time. What another server costs above it is what it does with the request.",
        .serves_files = false,
        .programs = floor_program,
        .version_words = long_version,
        .launch = opponent::launch_floor,
    },
    Opponent{
        .name = "floor-sendfile",
        .what = "The floor again, with the body by sendfile behind a head with MSG_MORE. The file "
                "stays in the page cache and is not copied through the process. For a large file "
                "on a real network this is the floor; on loopback the copy is often cheaper.",
        .serves_files = false,
        .programs = floor_program,
        .version_words = long_version,
        .launch = opponent::launch_floor_sendfile,
    },
};

bool is_ours(string_view program) {
    return program.starts_with("tiderace-");
}

std::optional<std::string> program_of(const Opponent& opponent) {
    for (const string_view name : opponent.programs) {
        auto found = is_ours(name) ? find_own_program(name) : core::find_program(name);
        if (found) return found;
    }
    return std::nullopt;
}

}  // namespace

std::span<const Opponent> opponents() {
    return table;
}

const Opponent* find_opponent(string_view name) {
    const auto* const found = std::ranges::find(table, name, &Opponent::name);
    return found != table.end() ? found : nullptr;
}

std::string file_of(string_view path) {
    return std::string(path) + (path.ends_with('/') ? "index.html" : "");
}

std::optional<std::string> find_own_program(string_view name) {
    if (const auto folder = core::own_folder()) {
        // Before the PATH: an installed one may be of another version than the lab that measures
        // it.
        if (auto found = core::find_program(*folder + "/" + std::string(name))) return found;
    }
    return core::find_program(name);
}

std::optional<std::string> why_absent(const Opponent& opponent) {
    if (program_of(opponent)) return std::nullopt;
    const std::string name(opponent.programs.front());
    if (is_ours(name)) return name + " was not built: its library was not there at configure time";
    return name + " is not installed";
}

std::string opponent_version(const Opponent& opponent) {
    const auto program = program_of(opponent);
    auto pipe = core::Pipe::open();
    if (!program || !pipe) return {};
    const int output = pipe->writing.get();
    core::ChildOptions options{.arguments = {*program}, .output = output, .errors = output};
    for (const string_view word : opponent.version_words) options.arguments.emplace_back(word);
    auto child = core::ChildProcess::start(options);
    // Ours: with it open, the read below would block where the program printed nothing.
    pipe->writing.reset();
    // One that does not end is ended with `child`: a report may lack a version, a run may not hang.
    if (!child || !child->wait(version_patience)) return {};
    std::string said(4096, '\0');  // less than a pipe holds, so that the child did not wait for us
    const ssize_t got = ::read(pipe->reading.get(), said.data(), said.size());
    said.resize(got > 0 ? static_cast<std::size_t>(got) : 0);
    return said.substr(0, said.find('\n'));
}

namespace {

Result<ServerLaunch> plan_launch(const Opponent& opponent, const OpponentPlan& plan) {
    const auto program = program_of(opponent);
    if (!program) return fail(Error(0, "start", opponent.name, *why_absent(opponent)));
    // Each config language has its own way to quote, so a name that needs quotes is refused.
    if ((plan.folder + plan.path).find_first_of("\"'\\\n$<>{}") != std::string::npos) {
        return fail(Error(0, "serve", plan.folder + plan.path, "a plainer name is needed"));
    }
    auto address = choose_address();
    if (!address) return fail(address.error());
    ServerLaunch launch = opponent.launch({*program, plan, *address});
    launch.child.cpus = plan.cpus;
    launch.address = *address;
    launch.path = plan.path;
    launch.wait = plan.wait;
    return launch;
}

}  // namespace

Result<ServerProcess> start_opponent(const Opponent& opponent, const OpponentPlan& plan) {
    // Between the choice of a port and its use somebody else may take it: then once more.
    for (int attempt = 1;; ++attempt) {
        auto launch = plan_launch(opponent, plan);
        if (!launch) return fail(launch.error());
        auto server = ServerProcess::start(std::move(*launch));
        if (server || attempt == attempts_max ||
            server.error().message().find(in_use) == std::string::npos) {
            return server;
        }
    }
}

std::string describe_launch(const Opponent& opponent, const OpponentPlan& plan) {
    const auto launch = plan_launch(opponent, plan);
    if (!launch) return {};
    std::string text;
    for (const auto& [name, value] : launch->child.environment) {
        text.append(name).append(1, '=').append(value).append(1, ' ');
    }
    // The name is enough: a report is read on other machines.
    const std::string& program = launch->child.arguments.front();
    text += program.substr(program.rfind('/') + 1);
    for (const std::string& word : launch->child.arguments | std::views::drop(1))
        text += ' ' + word;
    text += '\n';
    for (const auto& [name, content] : launch->files) {
        text.append("# ").append(name).append(1, '\n').append(content);
    }
    return text;
}

}  // namespace tiderace::lab
