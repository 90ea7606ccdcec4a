// echo_load PORT SECONDS SOCKETS PAYLOAD_BYTES raw|websocket: as many sockets, on each one message
// at a time: the next is sent when the last came back as it was. A message is the frame that a
// WebSocket client sends (masked); `raw` sends the same bytes and wants all of them back,
// `websocket` upgrades first and wants the payload back unmasked. Prints what it counted as JSON.
#include <fcntl.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include "bench/tls_peer.h"

namespace tiderace::bench {
namespace {

struct Messages {
    std::string sent;
    std::string expected;
};

Messages messages(std::size_t payload_bytes, bool websocket) {
    if (payload_bytes > 125) give_up("the payload is longer than 125 bytes");
    constexpr std::string_view mask = "\x37\xfa\x21\x3d";
    std::string payload;
    for (std::size_t i = 0; i < payload_bytes; ++i) payload += static_cast<char>('a' + i % 26);
    const auto size = static_cast<unsigned char>(payload_bytes);
    Messages both;
    both.sent += '\x82';                          // binary, final
    both.sent += static_cast<char>(0x80 | size);  // masked
    both.sent += mask;
    for (std::size_t i = 0; i < payload_bytes; ++i) {
        both.sent += static_cast<char>(payload[i] ^ mask[i % 4]);
    }
    both.expected = both.sent;
    if (websocket) {
        both.expected = "\x82";
        both.expected += static_cast<char>(size);
        both.expected += payload;
    }
    return both;
}

struct Socket {
    int fd = -1;
    std::string received;
};

void upgrade(int fd) {
    constexpr std::string_view request =
        "GET / HTTP/1.1\r\nHost: localhost\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
        "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n\r\n";
    if (::send(fd, request.data(), request.size(), MSG_NOSIGNAL) !=
        static_cast<ssize_t>(request.size())) {
        give_up("the server does not take a request");
    }
    std::string head;
    char byte = 0;
    while (!head.ends_with("\r\n\r\n")) {
        if (::recv(fd, &byte, 1, 0) != 1) give_up("the server does not upgrade: " + head);
        head += byte;
    }
    if (!head.starts_with("HTTP/1.1 101 ") ||
        head.find("s3pPLMBiTxaQ9kYGzzhZRbK+xOo=") == std::string::npos) {
        give_up("the server does not upgrade: " + head);
    }
}

double now() {
    const auto since = std::chrono::steady_clock::now().time_since_epoch();
    return std::chrono::duration<double>(since).count();
}

void say(const Socket& socket, const Messages& messages) {
    // A message is far smaller than what a socket takes at once, and one is under way at a time.
    if (::send(socket.fd, messages.sent.data(), messages.sent.size(), MSG_NOSIGNAL) !=
        static_cast<ssize_t>(messages.sent.size())) {
        give_up("the server does not take a message");
    }
}

// True once the whole message is back.
bool hear(Socket& socket, const Messages& messages) {
    std::array<char, 4096> buffer;
    const ssize_t got = ::recv(socket.fd, buffer.data(), buffer.size(), 0);
    if (got < 0 && errno == EAGAIN) return false;
    if (got <= 0) give_up("the server closed");
    socket.received.append(buffer.data(), static_cast<std::size_t>(got));
    if (socket.received.size() < messages.expected.size()) return false;
    if (socket.received != messages.expected) give_up("another message came back");
    socket.received.clear();
    return true;
}

void measure(std::uint16_t port, double seconds, std::size_t count, const Messages& messages,
             bool websocket) {
    const int epoll = ::epoll_create1(EPOLL_CLOEXEC);
    std::vector<Socket> sockets(count);
    for (Socket& socket : sockets) {
        socket.fd = connect_to(port);
        if (websocket) upgrade(socket.fd);
        ::fcntl(socket.fd, F_SETFL, ::fcntl(socket.fd, F_GETFL) | O_NONBLOCK);
        epoll_event event{.events = EPOLLIN, .data = {.ptr = &socket}};
        ::epoll_ctl(epoll, EPOLL_CTL_ADD, socket.fd, &event);
    }
    // The driver reads the server's clock now: connecting is not what is measured.
    std::puts("open");
    std::fflush(stdout);
    if (std::getchar() == EOF) return;

    const double began = now();
    for (const Socket& socket : sockets) say(socket, messages);
    std::uint64_t echoed = 0;
    std::array<epoll_event, 1024> events;
    for (std::size_t running = count; running > 0;) {
        const int ready = ::epoll_wait(epoll, events.data(), events.size(), 10'000);
        if (ready <= 0) give_up("the server does not answer");
        const bool go_on = now() < began + seconds;
        for (int i = 0; i < ready; ++i) {
            auto& socket = *static_cast<Socket*>(events[static_cast<std::size_t>(i)].data.ptr);
            if (!hear(socket, messages)) continue;
            ++echoed;
            if (go_on) {
                say(socket, messages);
            } else {
                --running;
            }
        }
    }
    std::printf("counted {\"messages\": %llu, \"sockets\": %zu, \"seconds\": %.6f}\n",
                static_cast<unsigned long long>(echoed), count, now() - began);
    std::fflush(stdout);
    std::getchar();  // the sockets stay until the driver has looked at the server
    for (const Socket& socket : sockets) ::close(socket.fd);
}

}  // namespace
}  // namespace tiderace::bench

int main(int argc, char** argv) {
    if (argc != 6) {
        tiderace::bench::give_up(
            "usage: echo_load PORT SECONDS SOCKETS PAYLOAD_BYTES raw|websocket");
    }
    const bool websocket = std::string_view(argv[5]) == "websocket";
    const auto payload_bytes = static_cast<std::size_t>(std::atol(argv[4]));
    tiderace::bench::measure(static_cast<std::uint16_t>(std::atoi(argv[1])), std::atof(argv[2]),
                             static_cast<std::size_t>(std::atol(argv[3])),
                             tiderace::bench::messages(payload_bytes, websocket), websocket);
    return 0;
}
