// The cost of sending a file from the page cache: by sendfile, and by several uses of io_uring.
//
//   file_sends BYTES [connections [rounds]]
//
// One process sends the file to each of its connections over loopback in every round; another, on
// the second processor, throws it away. Printed is what the sender used of the processor for a
// file, io_uring's worker threads included: the median of the rounds, and how far they spread. The
// ways take turns, so that a busy machine disturbs them alike.
//
//   sendfile      a call each, and epoll_wait for room
//   splice        two linked operations, file to pipe and pipe to socket
//   fixed buffer  two linked operations, READ_FIXED into registered memory and SEND from it
//   memory        SEND from memory that holds the file
//   zero copy     SEND_ZC from registered memory that holds the file
#include <fcntl.h>
#include <liburing.h>
#include <linux/sockios.h>
#include <netinet/in.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

namespace {

constexpr std::size_t piece_bytes = 64 << 10;  // what a pipe holds, and a registered buffer

[[noreturn]] void die(std::string_view what, int error = errno) {
    std::fprintf(stderr, "file_sends: %.*s: %s\n", static_cast<int>(what.size()), what.data(),
                 strerror(error));  // NOLINT(concurrency-mt-unsafe): of one thread
    std::exit(1);                   // NOLINT(concurrency-mt-unsafe)
}
int must(int outcome, std::string_view what) {
    if (outcome < 0) die(what);
    return outcome;
}
void stay_on(int cpu) {
    cpu_set_t cpus;
    CPU_ZERO(&cpus);
    CPU_SET(cpu, &cpus);
    must(sched_setaffinity(0, sizeof cpus, &cpus), "sched_setaffinity");
}

struct Connection {
    int socket = -1;
    std::array<int, 2> pipe{-1, -1};
    std::size_t in_pipe = 0;
    std::size_t sent = 0;
    std::byte* buffer = nullptr;
    std::size_t number = 0;
    int pending = 0;  // completions to come
};

struct Job {
    int file = -1;
    std::size_t bytes = 0;
    std::byte* content = nullptr;
    std::vector<Connection> connections;
    io_uring ring{};
    int poller = -1;
};

// ---- by sendfile ------------------------------------------------------------------------------

bool send_until_full(Job& job, Connection& to) {
    while (to.sent < job.bytes) {
        auto at = static_cast<off_t>(to.sent);
        const ssize_t got = ::sendfile(to.socket, job.file, &at, job.bytes - to.sent);
        if (got < 0 && errno == EAGAIN) return false;
        if (got <= 0) die("sendfile");
        to.sent += static_cast<std::size_t>(got);
    }
    return true;
}

void by_sendfile(Job& job) {
    std::size_t left = 0;
    for (Connection& each : job.connections) {
        if (send_until_full(job, each)) continue;
        epoll_event event{.events = EPOLLOUT, .data = {.ptr = &each}};
        must(epoll_ctl(job.poller, EPOLL_CTL_ADD, each.socket, &event), "epoll_ctl");
        ++left;
    }
    std::array<epoll_event, 256> events;
    while (left > 0) {
        const int count = must(epoll_wait(job.poller, events.data(), events.size(), -1), "wait");
        for (int i = 0; i < count; ++i) {
            auto& each = *static_cast<Connection*>(events[static_cast<std::size_t>(i)].data.ptr);
            if (!send_until_full(job, each)) continue;
            epoll_ctl(job.poller, EPOLL_CTL_DEL, each.socket, nullptr);
            --left;
        }
    }
}

// ---- by io_uring ------------------------------------------------------------------------------

io_uring_sqe* next(Job& job, Connection& of) {
    io_uring_sqe* entry = io_uring_get_sqe(&job.ring);
    if (entry == nullptr) {
        io_uring_submit(&job.ring);
        entry = io_uring_get_sqe(&job.ring);
    }
    if (entry == nullptr) die("no room in the ring", EBUSY);
    ++of.pending;
    return entry;
}
enum Step : unsigned { filled, passed_on, has_room };
void mark(io_uring_sqe* entry, const Connection& of, Step step) {
    io_uring_sqe_set_data64(entry, of.number * 4 + step);
}

void ask_splice_out(Job& job, Connection& to) {
    io_uring_sqe* out = next(job, to);
    io_uring_prep_splice(out, to.pipe[0], -1, to.socket, -1,
                         static_cast<unsigned>(to.in_pipe > 0 ? to.in_pipe : piece_bytes),
                         SPLICE_F_NONBLOCK);
    mark(out, to, passed_on);
}
void ask_splice(Job& job, Connection& to) {
    if (to.in_pipe == 0) {
        const std::size_t bytes = std::min(piece_bytes, job.bytes - to.sent);
        io_uring_sqe* in = next(job, to);
        io_uring_prep_splice(in, job.file, static_cast<std::int64_t>(to.sent), to.pipe[1], -1,
                             static_cast<unsigned>(bytes), 0);
        in->flags |= IOSQE_IO_LINK;
        mark(in, to, filled);
    }
    ask_splice_out(job, to);
}
void ask_room(Job& job, Connection& to) {
    io_uring_sqe* entry = next(job, to);
    io_uring_prep_poll_add(entry, to.socket, POLLOUT);
    mark(entry, to, has_room);
}

void ask_fixed_buffer(Job& job, Connection& to) {
    const auto bytes = static_cast<unsigned>(std::min(piece_bytes, job.bytes - to.sent));
    io_uring_sqe* in = next(job, to);
    io_uring_prep_read_fixed(in, job.file, to.buffer, bytes, to.sent,
                             static_cast<int>(to.number) + 1);
    in->flags |= IOSQE_IO_LINK;
    mark(in, to, filled);
    io_uring_sqe* out = next(job, to);
    io_uring_prep_send(out, to.socket, to.buffer, bytes, MSG_WAITALL);
    mark(out, to, passed_on);
}
void ask_memory(Job& job, Connection& to) {
    io_uring_sqe* out = next(job, to);
    io_uring_prep_send(out, to.socket, job.content + to.sent, job.bytes - to.sent, MSG_WAITALL);
    mark(out, to, passed_on);
}
void ask_zero_copy(Job& job, Connection& to) {
    io_uring_sqe* out = next(job, to);
    io_uring_prep_send_zc_fixed(out, to.socket, job.content + to.sent, job.bytes - to.sent,
                                MSG_WAITALL, 0, 0);
    mark(out, to, passed_on);
}

template <void (*ask)(Job&, Connection&)>
void by_ring(Job& job) {
    std::size_t left = job.connections.size();
    for (Connection& each : job.connections) ask(job, each);
    while (left > 0) {
        if (const int told = io_uring_submit_and_wait(&job.ring, 1); told < 0 && told != -EINTR) {
            die("io_uring", -told);
        }
        unsigned head = 0;
        unsigned seen = 0;
        io_uring_cqe* completion = nullptr;
        io_uring_for_each_cqe(&job.ring, head, completion) {
            ++seen;
            const std::uint64_t data = completion->user_data;
            Connection& to = job.connections[data / 4];
            const auto step = static_cast<Step>(data % 4);
            const int result = completion->res;
            const bool more = (completion->flags & IORING_CQE_F_MORE) != 0;
            const bool told_free = (completion->flags & IORING_CQE_F_NOTIF) != 0;
            if (!more) --to.pending;
            if (!told_free) {
                if (result < 0 && result != -EAGAIN && result != -ECANCELED) die("ring", -result);
                const auto bytes = static_cast<std::size_t>(std::max(result, 0));
                if (step == filled) {
                    to.in_pipe = bytes;
                } else if (step == passed_on) {
                    to.in_pipe -= std::min(to.in_pipe, bytes);
                    to.sent += bytes;
                    if (result == -EAGAIN) ask_room(job, to);
                }
            }
            if (to.pending > 0) continue;
            if (to.sent < job.bytes) {
                ask(job, to);
            } else {
                --left;
            }
        }
        io_uring_cq_advance(&job.ring, seen);
    }
}

// ---- the sides --------------------------------------------------------------------------------

[[noreturn]] void throw_away(const std::vector<int>& sockets) {
    stay_on(1);
    const int poller = must(epoll_create1(0), "epoll_create");
    for (const int each : sockets) {
        epoll_event event{.events = EPOLLIN, .data = {.fd = each}};
        must(epoll_ctl(poller, EPOLL_CTL_ADD, each, &event), "epoll_ctl");
    }
    std::vector<std::byte> buffer(std::size_t{256} << 10);
    std::array<epoll_event, 256> events;
    for (;;) {
        // It never sleeps: waking it would be what is measured.
        const int count = epoll_wait(poller, events.data(), events.size(), 0);
        for (int i = 0; i < count; ++i) {
            const ssize_t got = ::recv(events[static_cast<std::size_t>(i)].data.fd, buffer.data(),
                                       buffer.size(), MSG_DONTWAIT);
            if (got == 0) _exit(0);
        }
    }
}

double cpu_microseconds() {
    rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    const auto of = [](const timeval& time) {
        return static_cast<double>(time.tv_sec) * 1e6 + static_cast<double>(time.tv_usec);
    };
    return of(usage.ru_utime) + of(usage.ru_stime);
}

void connect_all(Job& job, std::size_t count, std::vector<int>& far) {
    const int listener = must(socket(AF_INET, SOCK_STREAM, 0), "socket");
    sockaddr_in at{};
    at.sin_family = AF_INET;
    at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t bytes = sizeof at;
    auto* raw = reinterpret_cast<sockaddr*>(&at);
    must(bind(listener, raw, bytes), "bind");
    must(listen(listener, 128), "listen");
    must(getsockname(listener, raw, &bytes), "getsockname");
    for (std::size_t i = 0; i < count; ++i) {
        far.push_back(must(socket(AF_INET, SOCK_STREAM, 0), "socket"));
        must(connect(far.back(), raw, bytes), "connect");
        Connection& each = job.connections.emplace_back();
        each.number = i;
        each.socket = must(accept4(listener, nullptr, nullptr, SOCK_NONBLOCK), "accept");
        must(pipe2(each.pipe.data(), O_NONBLOCK), "pipe");
    }
    close(listener);
}

// Empties the sockets, so that one method does not deliver another's bytes.
void drain(const Job& job) {
    for (const Connection& each : job.connections) {
        for (int waiting = 1; waiting > 0;) {
            must(ioctl(each.socket, SIOCOUTQ, &waiting), "SIOCOUTQ");
            if (waiting > 0) usleep(200);
        }
    }
}

void register_memory(Job& job) {
    std::vector<iovec> memory{{job.content, job.bytes}};
    for (Connection& each : job.connections) {
        each.buffer = static_cast<std::byte*>(std::aligned_alloc(4096, piece_bytes));
        memory.push_back({each.buffer, piece_bytes});
    }
    io_uring_params how{};
    how.flags = IORING_SETUP_SINGLE_ISSUER | IORING_SETUP_DEFER_TASKRUN;
    if (const int made = io_uring_queue_init_params(1024, &job.ring, &how); made < 0) {
        die("io_uring_queue_init", -made);
    }
    const int registered =
        io_uring_register_buffers(&job.ring, memory.data(), static_cast<unsigned>(memory.size()));
    if (registered < 0) die("io_uring_register_buffers", -registered);
}

double median(std::vector<double> values) {
    std::ranges::sort(values);
    return values[values.size() / 2];
}

}  // namespace

int main(int argc, char** argv) {
    if (argc < 2) {
        std::fputs("usage: file_sends BYTES [connections [rounds]]\n", stderr);
        return 2;
    }
    Job job;
    job.bytes = std::stoul(argv[1]);
    const std::size_t count = argc > 2 ? std::stoul(argv[2]) : 64;
    const int rounds = argc > 3 ? std::stoi(argv[3]) : 50;
    job.file = must(open("/tmp", O_TMPFILE | O_RDWR, 0600), "make a file in /tmp");
    job.content = static_cast<std::byte*>(
        mmap(nullptr, job.bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    std::memset(job.content, 'x', job.bytes);
    must(static_cast<int>(pwrite(job.file, job.content, job.bytes, 0)), "pwrite");
    std::vector<int> far;
    connect_all(job, count, far);
    const pid_t reader = must(fork(), "fork");
    if (reader == 0) {
        for (const Connection& each : job.connections) close(each.socket);
        throw_away(far);
    }
    for (const int each : far) close(each);
    stay_on(0);
    job.poller = must(epoll_create1(0), "epoll_create");
    register_memory(job);

    struct Way {
        const char* name;
        void (*send)(Job&);
        std::vector<double> microseconds{};
    };
    std::array<Way, 5> ways{{{"sendfile", by_sendfile},
                             {"splice", by_ring<ask_splice>},
                             {"fixed buffer", by_ring<ask_fixed_buffer>},
                             {"memory", by_ring<ask_memory>},
                             {"zero copy", by_ring<ask_zero_copy>}}};
    for (int round = -1; round < rounds; ++round) {
        for (Way& way : ways) {
            for (Connection& each : job.connections) each.sent = 0;
            const double before = cpu_microseconds();
            way.send(job);
            drain(job);
            const double used = (cpu_microseconds() - before) / static_cast<double>(count);
            if (round >= 0) way.microseconds.push_back(used);
        }
    }
    const double base = median(ways[0].microseconds);
    for (const Way& way : ways) {
        const auto [least, most] = std::ranges::minmax(way.microseconds);
        std::printf("%-14s %9.2f us (%.2f to %.2f)  %.2f of sendfile\n", way.name,
                    median(way.microseconds), least, most, median(way.microseconds) / base);
    }
    for (const Connection& each : job.connections) close(each.socket);
    waitpid(reader, nullptr, 0);
}
