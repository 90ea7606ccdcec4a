#include "server/live/admin_client.h"

#include <sys/socket.h>
#include <sys/time.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <expected>
#include <string>
#include <string_view>

#include "server/config/document.h"
#include "server/terminal.h"
#include "tiderace/base/result.h"
#include "tiderace/core/address.h"
#include "tiderace/core/kernel.h"

namespace tiderace::server {
namespace {

constexpr std::string_view program = "tiderace";

std::string_view advice_for(int code) {
    switch (code) {
        case ENOENT:
        case ECONNREFUSED:
            return "no server has this admin socket; is it running?";
        case EACCES:
            return "only users that the mode of the socket lets in may ask, such as its owner";
        case EAGAIN:
            return "the server there does not answer";
        default:
            return "";
    }
}

Error failed(std::string_view operation, const std::string& socket, int code) {
    return Error(code, operation, socket, advice_for(code));
}

Result<core::Descriptor> connect_to(const std::string& path) {
    const auto address = core::Address::parse("unix:" + path);
    if (!address) return fail(address.error());
    core::Descriptor socket(core::system_kernel(),
                            ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
    if (!socket) return fail(failed("open", "a socket", errno));
    const timeval patience{
        .tv_sec = std::chrono::duration_cast<std::chrono::seconds>(AdminClient::patience).count(),
        .tv_usec = 0};
    for (const int which : {SO_RCVTIMEO, SO_SNDTIMEO}) {
        ::setsockopt(socket.get(), SOL_SOCKET, which, &patience, sizeof patience);
    }
    sockaddr_storage storage;
    const socklen_t bytes = address->to_sockaddr(storage);
    if (::connect(socket.get(), reinterpret_cast<const sockaddr*>(&storage), bytes) != 0) {
        return fail(failed("connect to", path, errno));
    }
    return socket;
}

// Until the server closes. One that is overwhelmed answers before it has read the request, which
// then resets the connection.
Result<std::string> receive_all(const core::Descriptor& socket, const std::string& path) {
    std::string all;
    std::array<char, 64u << 10> part;
    for (;;) {
        const ssize_t got = ::recv(socket.get(), part.data(), part.size(), 0);
        if (got < 0 && errno == EINTR) continue;
        if (got == 0 || (got < 0 && errno == ECONNRESET && !all.empty())) return all;
        if (got < 0) return fail(failed("read the answer of", path, errno));
        all.append(part.data(), static_cast<std::size_t>(got));
        if (all.size() > AdminClient::answer_bytes_max) return fail(failed("read", path, EMSGSIZE));
    }
}

}  // namespace

Result<AdminAnswer> ask(const std::string& path, std::string_view request_line) {
    auto socket = connect_to(path);
    if (!socket) return fail(socket.error());
    std::string request(request_line);
    request += " HTTP/1.1\r\nHost: tiderace\r\nContent-Length: 0\r\nConnection: close\r\n\r\n";
    // It fits any socket's buffer: one call takes all of it.
    if (::send(socket->get(), request.data(), request.size(), MSG_NOSIGNAL) < 0 && errno != EPIPE) {
        return fail(failed("ask", path, errno));
    }
    auto all = receive_all(*socket, path);
    if (!all) return fail(all.error());
    constexpr std::string_view begin = "HTTP/1.1 ";
    const std::size_t head_end = all->find("\r\n\r\n");
    if (!all->starts_with(begin) || head_end == all->npos) {
        return fail(Error(EPROTO, "ask", path, "what listens there is no tiderace"));
    }
    return AdminAnswer{std::atoi(all->c_str() + begin.size()), all->substr(head_end + 4)};
}

namespace {

// Also of a file with faults, which the server itself reports; but none of a file that is no TOML.
// Otherwise it reports why there is none, and returns the exit status.
std::expected<std::string, int> socket_in(const std::string& file) {
    config::Sources sources;
    config::Problems problems;
    const config::DocumentWorld world = config::this_world();
    const config::Reading reading{sources, problems, world};
    const config::Table top = config::DocumentReader(reading).read(file);
    const config::Member* const admin = top.find("admin");
    const auto* const table = admin != nullptr ? admin->value.get<config::Table>() : nullptr;
    const config::Member* const socket = table != nullptr ? table->find("socket") : nullptr;
    const auto* const text = socket != nullptr ? socket->value.get<std::string>() : nullptr;
    if (text != nullptr && !text->empty()) return reading.path_of(*text, socket->value.at);
    std::fputs(problems.text(sources).c_str(), stderr);
    if (problems.errors() > 0) {
        return std::unexpected(world.look(file, config::FileKind::file) ? 1 : 2);
    }
    complain(program, printable(file) + " has no [admin] with a socket: add it and start the " +
                          "server again, or name its socket with --socket PATH");
    return std::unexpected(2);
}

}  // namespace

std::expected<std::string, int> socket_of(const CommandWords& words) {
    for (const GivenFlag& given : words.flags) {
        if (given.flag->name == "socket") return given.value;
    }
    return socket_in(words.operands[0]);
}

std::string strange_answer(const std::string& socket, int status) {
    return printable(socket) + " answers " + std::to_string(status) +
           ": it is no admin socket, or the server is overwhelmed";
}

int ask_server(const FileTool& tool) {
    const auto socket = socket_of(tool.words);
    if (!socket) return socket.error();
    const bool is_reload = tool.name == "reload";
    const auto answer = ask(*socket, is_reload                ? "POST /reload"
                                     : tool.words.has("json") ? "GET /status"
                                                              : "GET /status.txt");
    if (!answer) {
        complain(program, answer.error().message());
        return 2;
    }
    if (answer->status == 200) return print(program, answer->body);
    if (is_reload && answer->status == 409) {
        std::fputs(answer->body.c_str(), stderr);
        return 1;
    }
    complain(program, strange_answer(*socket, answer->status));
    return 2;
}

}  // namespace tiderace::server
