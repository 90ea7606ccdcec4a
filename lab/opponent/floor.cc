// tiderace-lab-floor: the least that a server can do. It reads whatever came and answers with one
// file, under epoll; it parses nothing, ignores time, and has no limits. What a real
// server adds to its cost is the handling of the request.
//
//   tiderace-lab-floor FILE [--listen ADDRESS] [--threads N] [--sendfile] [--close]
//
// The file is answered from memory in one call together with its head, or by sendfile. One request
// on a connection at a time: pipelined requests get one answer.
#include <fcntl.h>
#include <netinet/in.h>
#include <sys/epoll.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <string>
#include <vector>

#include "lab/opponent/program.h"
#include "tiderace/base/check.h"

namespace tiderace::lab::opponent {
namespace {

constexpr std::array<std::string_view, 2> switches{"--sendfile", "--close"};
constexpr Program program{.name = "floor", .served = "FILE", .version = "1", .switches = switches};

struct Answer {
    std::string bytes;  // the head, and without --sendfile the file
    core::Descriptor file;
    off_t file_bytes = 0;
    bool by_sendfile = false;
    bool closes = false;
};

Result<Answer> make_answer(const ProgramOptions& options) {
    Answer answer{.by_sendfile = options.has("--sendfile"), .closes = options.has("--close")};
    const int fd = ::open(options.served.c_str(), O_RDONLY | O_CLOEXEC);
    struct stat facts{};
    if (fd < 0 || ::fstat(fd, &facts) != 0) return fail(Error::last("open", options.served));
    answer.file = core::Descriptor(core::system_kernel(), fd);
    answer.file_bytes = facts.st_size;
    answer.bytes =
        "HTTP/1.1 200 OK\r\n"
        "Server: floor\r\n"
        // Fields of a usual length, all of them fixed: the peer reads as many bytes as from a real
        // server, and none is made for an answer.
        "Date: Sat, 21 Nov 2026 12:00:00 GMT\r\n"
        "Content-Type: text/html\r\n"
        "Content-Length: " +
        std::to_string(answer.file_bytes) +
        "\r\n"
        "Last-Modified: Sat, 21 Nov 2026 11:00:00 GMT\r\n"
        "ETag: \"6560a5c4-400\"\r\n"
        "Accept-Ranges: bytes\r\n" +
        (answer.closes ? "Connection: close\r\n\r\n" : "\r\n");
    if (answer.by_sendfile) return answer;
    const std::size_t head = answer.bytes.size();
    answer.bytes.resize(head + static_cast<std::size_t>(answer.file_bytes));
    for (std::size_t have = head; have < answer.bytes.size();) {
        const ssize_t got = ::pread(fd, &answer.bytes[have], answer.bytes.size() - have,
                                    static_cast<off_t>(have - head));
        if (got <= 0) return fail(Error::last("read", options.served));
        have += static_cast<std::size_t>(got);
    }
    return answer;
}

// A connection:
//
//   reads --any bytes--> sends --all is out--> reads, or with --close: closed
//                          |  ^
//            the socket is |  | it has room
//            full          v  |
//                        waits: nothing is read meanwhile
class Floor {
  public:
    Floor(const Answer& answer, int listener, int stop)
        : answer_(answer),
          listener_(listener),
          stop_(stop),
          poller_(::epoll_create1(EPOLL_CLOEXEC)) {
        TR_CHECK(poller_ >= 0, "no descriptor for epoll");
        watch(EPOLL_CTL_ADD, listener_, EPOLLIN);
        watch(EPOLL_CTL_ADD, stop_, EPOLLIN);
    }
    ~Floor() { ::close(poller_); }

    // Level-triggered, and no timer: whatever a server adds to this loop is what it costs.
    void run() {
        std::array<epoll_event, 512> events;
        for (;;) {
            const int ready =
                ::epoll_wait(poller_, events.data(), static_cast<int>(events.size()), -1);
            // -1 for a signal: no events, and the next round.
            for (int i = 0; i < ready; ++i) {
                const int fd = events[static_cast<std::size_t>(i)].data.fd;
                if (fd == stop_) return;
                fd == listener_ ? accept_all() : serve(fd);
            }
        }
    }

  private:
    enum class Outcome : std::uint8_t { done, blocked, broken };

    struct Peer {
        std::size_t sent = 0;  // of the answer's bytes
        off_t offset = 0;      // of the file
        bool waits_for_room = false;
    };

    void watch(int operation, int fd, std::uint32_t what) {
        epoll_event event{};
        event.events = what;
        event.data.fd = fd;
        ::epoll_ctl(poller_, operation, fd, &event);
    }

    // Without a descriptor it spins, because the listener stays readable: nothing here rests, and
    // the lab asks for no more connections than the limit allows.
    void accept_all() {
        int fd = 0;
        while ((fd = ::accept4(listener_, nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC)) >= 0) {
            const auto number = static_cast<std::size_t>(fd);
            if (number >= peers_.size()) peers_.resize(number * 2);
            // The number may have been another connection's, closed in the middle of its answer.
            peers_[number] = {};
            watch(EPOLL_CTL_ADD, fd, EPOLLIN);
        }
    }

    Outcome send_rest(int fd, Peer& peer) {
        // MSG_MORE: the head waits for the file, so that both leave in one packet.
        const int flags = MSG_NOSIGNAL | (answer_.by_sendfile ? MSG_MORE : 0);
        const auto stuck = [] { return errno == EAGAIN ? Outcome::blocked : Outcome::broken; };
        while (peer.sent < answer_.bytes.size()) {
            const ssize_t n = ::send(fd, answer_.bytes.data() + peer.sent,
                                     answer_.bytes.size() - peer.sent, flags);
            if (n < 0) return stuck();
            peer.sent += static_cast<std::size_t>(n);
        }
        while (answer_.by_sendfile && peer.offset < answer_.file_bytes) {
            const auto left = static_cast<std::size_t>(answer_.file_bytes - peer.offset);
            const ssize_t n = ::sendfile(fd, answer_.file.get(), &peer.offset, left);
            if (n < 0) return stuck();
            if (n == 0) return Outcome::broken;  // the file shrank
        }
        return Outcome::done;
    }

    void serve(int fd) {
        Peer& peer = peers_[static_cast<std::size_t>(fd)];
        // While an answer is stuck nothing is read: the event means room for more of it, and not a
        // request.
        const bool waited = peer.waits_for_room;
        if (!waited) {
            const ssize_t got = ::recv(fd, received_.data(), received_.size(), 0);
            if (got < 0 && errno == EAGAIN) return;
            if (got <= 0) {
                ::close(fd);
                return;
            }
            peer = {};
        }
        const Outcome outcome = send_rest(fd, peer);
        if (outcome == Outcome::broken || (outcome == Outcome::done && answer_.closes)) {
            ::close(fd);
            return;
        }
        peer.waits_for_room = outcome == Outcome::blocked;
        if (waited != peer.waits_for_room) {
            watch(EPOLL_CTL_MOD, fd, peer.waits_for_room ? EPOLLOUT : EPOLLIN);
        }
    }

    const Answer& answer_;
    int listener_;
    int stop_;
    int poller_;
    std::vector<Peer> peers_ = std::vector<Peer>(1024);  // by descriptor
    std::array<char, 1 << 16> received_;
};

}  // namespace
}  // namespace tiderace::lab::opponent

int main(int count, char** words) {
    namespace opponent = tiderace::lab::opponent;
    opponent::Answer answer;
    return opponent::run_program(
        opponent::program, {words, static_cast<std::size_t>(count)},
        [&](const opponent::ProgramOptions& options) -> tiderace::Result<> {
            auto made = opponent::make_answer(options);
            if (!made) return tiderace::fail(made.error());
            answer = std::move(*made);
            return {};
        },
        [](const opponent::ProgramOptions& options) { return options.threads; },
        [&](tiderace::core::Descriptor listener, int stop) -> tiderace::Result<> {
            opponent::Floor(answer, listener.get(), stop).run();
            return {};
        });
}
