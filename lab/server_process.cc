#include "lab/server_process.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <chrono>
#include <filesystem>
#include <optional>
#include <thread>

#include "lab/temporary_folder.h"
#include "load/server_watch.h"
#include "tiderace/net/listener.h"

namespace tiderace::lab {
namespace {

using std::chrono::steady_clock;
constexpr std::size_t last_words_bytes_max = 500;
constexpr std::string_view folder_mark = "{folder}";

void fill_in(std::string& text, std::string_view value) {
    for (std::size_t at = 0; (at = text.find(folder_mark, at)) != std::string::npos;) {
        text.replace(at, folder_mark.size(), value);
        at += value.size();
    }
}

Result<> write_files(ServerLaunch& launch, const TemporaryFolder& folder) {
    for (std::string& word : launch.child.arguments) fill_in(word, folder.path());
    for (auto& setting : launch.child.environment) fill_in(setting.second, folder.path());
    for (auto& [name, text] : launch.files) {
        fill_in(text, folder.path());
        if (auto written = folder.write(name, text); !written) return written;
    }
    return {};
}

// A file without a name, for the server's output.
Result<core::Descriptor> open_words(const TemporaryFolder& folder) {
    const std::string path = folder.path() + "/words";
    const int fd = ::open(path.c_str(), O_RDWR | O_APPEND | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (fd < 0) return fail(Error::last("open", path));
    // Without a name it is gone with its last descriptor, however the run ends.
    ::unlink(path.c_str());
    return core::Descriptor(core::system_kernel(), fd);
}

// How long a Ctrl-C may wait for a server that does not answer.
constexpr std::int64_t look_ms = 100;

bool await(int fd, short event, steady_clock::time_point until, const Wait& wait) {
    pollfd asked{.fd = fd, .events = event, .revents = 0};
    for (;;) {
        const auto left = std::chrono::ceil<std::chrono::milliseconds>(until - steady_clock::now());
        const int outcome =
            ::poll(&asked, 1, static_cast<int>(std::clamp<std::int64_t>(left.count(), 0, look_ms)));
        if (outcome > 0) return true;
        if (outcome < 0 && errno != EINTR) return false;
        if (left.count() <= 0 || (wait && wait(Duration::zero()))) return false;
    }
}

}  // namespace

// The port is free again when this returns, so another program could take it; starting the server
// then fails, and the run reports it.
Result<core::Address> choose_address() {
    core::Kernel& kernel = core::system_kernel();
    const auto listener = net::open_listener(kernel, core::Address::loopback(0), {});
    if (!listener) return fail(listener.error());
    return net::local_address(kernel, *listener);
}

std::optional<int> ask_once(const core::Address& address, std::string_view path, Duration patience,
                            const Wait& wait) {
    core::Kernel& kernel = core::system_kernel();
    const auto until = steady_clock::now() + patience;
    sockaddr_storage storage;
    const socklen_t bytes = address.to_sockaddr(storage);
    const core::Descriptor socket(kernel, kernel.open_socket(storage.ss_family, SOCK_STREAM, 0));
    if (!socket) return std::nullopt;
    const int connected =
        kernel.connect(socket.get(), reinterpret_cast<const sockaddr*>(&storage), bytes);
    if (connected != 0 && connected != -EINPROGRESS) return std::nullopt;
    // A refusal makes it writable as well: the send below fails then.
    if (!await(socket.get(), POLLOUT, until, wait)) return std::nullopt;
    std::string request = "GET ";
    request.append(path).append(" HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n");
    if (path.empty()) request = "HTTP/1.1 200 as is\r\n";  // an echo server sends the request back
    const iovec piece{request.data(), request.size()};
    // All at once, or not at all: the buffer of a new socket holds it.
    if (kernel.send(socket.get(), &piece, 1, false) != static_cast<ssize_t>(request.size())) {
        return std::nullopt;
    }
    // "HTTP/1.1 200": what follows is the load generator's business.
    std::string answer;
    while (answer.size() < 12 && await(socket.get(), POLLIN, until, wait)) {
        char buffer[4096];
        const ssize_t got = kernel.receive(socket.get(), buffer, sizeof buffer);
        if (got <= 0 && got != -EAGAIN && got != -EINTR) return std::nullopt;
        if (got > 0) answer.append(buffer, static_cast<std::size_t>(got));
    }
    int status = 0;
    if (answer.size() < 12 || !answer.starts_with("HTTP/1.")) return std::nullopt;
    const auto read = std::from_chars(&answer[9], &answer[12], status);
    return read.ec == std::errc{} ? std::optional(status) : std::nullopt;
}

Result<ServerProcess> ServerProcess::start(ServerLaunch launch) {
    const auto folder = TemporaryFolder::make("tiderace-lab");
    if (!folder) return fail(folder.error());
    if (auto written = write_files(launch, *folder); !written) return fail(written.error());
    auto words = open_words(*folder);
    if (!words) return fail(words.error());
    // Its name alone: reports go to other machines.
    const std::string program = std::filesystem::path(launch.child.arguments.front()).filename();
    // A file and no pipe: a server that writes a lot would fill a pipe that is not being read, and
    // block.
    launch.child.output = launch.child.errors = words->get();
    auto child = core::ChildProcess::start(launch.child);
    if (!child) return fail(child.error());
    // From here on a return ends the process and its children: `server` owns them.
    ServerProcess server(std::move(*child), std::move(*words), launch.address);

    const auto refused = [&](const std::string& how) {
        const std::string said = server.last_words();
        return fail(Error(0, "start", program, how + (said.empty() ? "" : "; it said: " + said)));
    };
    const auto until = steady_clock::now() + launch.start_patience;
    while (steady_clock::now() < until) {
        // First, because the port may be another program's, which answers although ours could not
        // bind to it.
        if (const auto ended = server.exit()) return refused(ended->text());
        const auto status =
            ask_once(launch.address, launch.path, until - steady_clock::now(), launch.wait);
        if (status == 200) return server;
        // It serves, but not this: waiting longer would not change it. Before it listens there is
        // no status at all.
        if (status) return refused("answered " + launch.path + " with " + std::to_string(*status));
        if (!launch.wait) {
            std::this_thread::sleep_for(5ms);
        } else if (launch.wait(5ms)) {
            return refused("was not wanted any more");
        }
    }
    return refused("did not answer within " + format_duration(launch.start_patience));
}

std::vector<int> ServerProcess::pids() const {
    std::vector<int> found = load::find_group(child_.pid());
    // Where the system lists no groups, or all have ended: the first process at least.
    if (found.empty()) found.push_back(child_.pid());
    return found;
}

std::string ServerProcess::last_words() const {
    const off_t size = ::lseek(words_.get(), 0, SEEK_END);
    // The end of it: the cause of an exit is in the last lines.
    const off_t from = std::max<off_t>(0, size - static_cast<off_t>(last_words_bytes_max));
    std::string text(last_words_bytes_max, '\0');
    const ssize_t got = ::pread(words_.get(), text.data(), text.size(), from);
    text.resize(got > 0 ? static_cast<std::size_t>(got) : 0);
    while (!text.empty() && text.back() == '\n') text.pop_back();
    std::ranges::replace(text, '\n', ' ');
    return text;
}

}  // namespace tiderace::lab
