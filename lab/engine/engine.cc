#include "lab/engine/engine.h"

#include <algorithm>
#include <array>

#include "lab/engine/asio.h"
#include "lab/engine/epoll_modes.h"
#include "lab/engine/libevent.h"
#include "lab/engine/prefork.h"
#include "lab/engine/queue.h"
#include "lab/engine/threads.h"
#include "tiderace/core/backend.h"

namespace tiderace::lab::engine {
namespace {

// Whether core has this engine compiled in, and this kernel lets us have it. Word by word: "poll"
// is a part of "epoll".
bool core_has(std::string_view name) {
    const std::string_view names = core::engine_names();
    for (std::size_t at = 0; at < names.size();) {
        const std::size_t end = std::min(names.find(' ', at), names.size());
        if (names.substr(at, end - at) == name) return true;
        at = end + 1;
    }
    return false;
}

std::string_view io_uring_absent() {
    return core_has("io_uring") ? "" : "this kernel has none, or does not let us";
}
std::string_view epoll_absent() {
    return core_has("epoll") ? "" : "epoll is Linux's";
}
std::string_view kqueue_absent() {
    return core_has("kqueue") ? "" : "kqueue is BSD's and macOS's";
}

// The differences, side by side. A thread sleeps in the first column; the last one has the calls of
// a request on a kept connection, beside the wait that it shares with others of its turn.
//
//                    sleeps in          accepts           a connection is   calls
//   select, poll     select, poll       each loop         a loop's          recv, send
//   epoll, epoll-lt  epoll_wait         each loop         a loop's          recv, send
//   epoll-et         epoll_wait         each loop         a loop's          recv, send
//   epoll-oneshot    epoll_wait         each loop         a loop's          recv, send, epoll_ctl
//   kqueue           kevent             each loop         a loop's          recv, send
//   io_uring         io_uring_enter     each loop's ring  a loop's          send, or none
//   queue            epoll_wait         the first loop    a loop's          recv, send
//   threads, pool    recv               the first loop    a thread's        recv, send
//   blocking-epoll   epoll_wait, recv   the first loop    a loop's          recv, send
//   prefork          epoll_wait         each process      a process's       recv, send
//   libevent         epoll_wait         each base         a base's          readv, writev,
//                                                                           twice epoll_ctl
//   asio-per-thread  epoll_wait         each io_context   a loop's          recv, send
//   asio-shared      epoll_wait, or a   the first loop    a strand's        recv, send
//                    condition
//
//                    an idle connection costs                      breaks down at
//   select           a bit of a set that each wait copies          descriptor 1,024
//   poll             an entry of a list that each wait copies      many connections, busy or not
//   epoll, kqueue    nothing at a wait                             -
//   io_uring         a receive under way, without a buffer         kernels that forbid it
//   threads          a thread and its stack                        its limit of threads
//   pool             a thread, while others wait for one           the first idle clients
//   blocking-epoll   a loop, and all that it was given             the first idle clients
//   prefork          as epoll                                      what processes have to share
//   libevent         a bufferevent with two buffers                -
//   asio-*           a buffer with a read under way                asio-shared: one queue for all
//
// The kernel's interfaces are in core/backend, each in a file; the other engines are here, and each
// file begins with its account.
constexpr std::array all_engines{
    Engine{.name = "epoll",
           .what = "One event loop a thread, and each loop asks epoll which of its connections are "
                   "ready. The kernel keeps the list, so an idle connection costs nothing at a "
                   "wait. It is the default of tiderace serve.",
           .absent = epoll_absent},
    Engine{.name = "epoll-lt",
           .what = "epoll, level-triggered, under its own name: readiness is reported until it "
                   "is consumed. One receive per event and no call to find a socket empty. Today "
                   "epoll is the same.",
           .absent = epoll_modes_absent,
           .arrange = arrange_level},
    Engine{.name = "epoll-et",
           .what = "epoll, edge-triggered: readiness is reported once, and the poller remembers it "
                   "until a call has taken all there was. A change of interest costs no call, and "
                   "the kernel checks no socket twice. A lost event is lost for ever.",
           .absent = epoll_modes_absent,
           .arrange = arrange_edge},
    Engine{.name = "epoll-oneshot",
           .what =
               "epoll, one-shot: an event is reported once and then the descriptor is silent "
               "until it is armed again. It is meant for several threads on one epoll. Alone in "
               "its loop it pays one epoll_ctl for each event.",
           .absent = epoll_modes_absent,
           .arrange = arrange_oneshot},
    Engine{.name = "io_uring",
           .what = "Completions instead of readiness: accepts and receives are multishot "
                   "operations into a ring of buffers that all connections share. What a turn asks "
                   "for goes to the kernel in the one call with which it waits. So do the small "
                   "answers of a busy turn; others leave by calls of their own.",
           .absent = io_uring_absent},
    Engine{.name = "kqueue",
           .what = "One event loop a thread over the BSDs' and macOS's event queue. As with epoll "
                   "the kernel keeps the list. There is none on Linux.",
           .absent = kqueue_absent},
    Engine{.name = "poll",
           .what = "One event loop a thread over POSIX poll. The whole list goes to the kernel at "
                   "each wait, so a wait costs more with every open connection, busy or not. It "
                   "runs everywhere."},
    Engine{.name = "select",
           .what = "One event loop a thread over POSIX select, which knows descriptors below 1,024 "
                   "only. A connection above that is closed politely, and every wait looks at the "
                   "whole set. It is the oldest of all and runs everywhere."},
    Engine{.name = "queue",
           .what = "One thread listens and hands each connection over a bounded queue to the next "
                   "of N epoll loops. The loops never see the listening socket. A new connection "
                   "costs a mutex and a wake-up, and while 1,024 wait, others stay in the kernel's "
                   "queue.",
           .arrange = arrange_queue},
    Engine{.name = "threads",
           .what = "A thread for each connection, started when it comes and ended with it, which "
                   "blocks in recv and send, so readiness is never polled. A connection "
                   "costs a thread and its stack, and a kept one holds both while it is idle. At "
                   "most --threads (512) run, one more connection is answered 503, and a deadline "
                   "may come 250 ms late while a send blocks.",
           .arrange = arrange_threads},
    Engine{.name = "pool",
           .what = "A pool of --threads (32) threads, and each serves one connection, blocking, "
                   "until that closes. More connections than threads wait unread in a queue of "
                   "1,024, even while those that are served idle, and above that they are answered "
                   "503. Kept connections starve it until the idle timeout frees a thread.",
           .arrange = arrange_pool},
    Engine{.name = "blocking-epoll",
           .what =
               "One thread deals the connections to N epoll loops in turn, but a loop that read "
               "from one blocks in it from then on, until it closes. The others of that loop "
               "get nothing meanwhile, and their deadlines go on: they are closed when those "
               "pass. It is how many a first server is written, and it is here to be seen.",
           .arrange = arrange_blocking_epoll},
    Engine{.name = "prefork",
           .what =
               "N processes of one epoll loop each share the listening sockets, and one that "
               "watches starts another in the place of each that dies. A new connection wakes "
               "every idle process and one gets it; memory and limits such as --max-connections "
               "are for each process. A crash costs the connections of one process only.",
           .arrange = arrange_prefork},
    Engine{.name = "libevent",
           .what = "One event_base a thread, and a bufferevent for each connection, as libevent's "
                   "users build servers. Bytes are read into the bufferevent and written from it "
                   "when epoll next reports room, so an answer costs two epoll_ctl and another "
                   "wait. Files are segments that go by sendfile.",
           .absent = libevent_absent,
           .arrange = arrange_libevent},
    Engine{.name = "asio-per-thread",
           .what = "Standalone Asio with an io_context a thread: each connection has a read under "
                   "way into a buffer of its own, and sends by async_send. What completed is "
                   "served by one turn of the loop that stands behind it in the io_context's "
                   "queue. Files go by sendfile.",
           .absent = asio_absent,
           .arrange = arrange_asio_per_thread},
    Engine{.name = "asio-shared",
           .what = "Standalone Asio with one io_context that all threads run. The handlers of a "
                   "loop share a strand, so a loop with its connections goes from thread to thread "
                   "and is never in two. Compared with asio-per-thread it pays for locks and "
                   "cold caches.",
           .absent = asio_absent,
           .arrange = arrange_asio_shared},
};

}  // namespace

std::unique_ptr<ThreadingModel> Engine::make() const {
    return arrange != nullptr ? arrange() : std::make_unique<ThreadingModel>();
}

std::span<const Engine> engines() {
    return all_engines;
}

const Engine* find_engine(std::string_view name) {
    const auto found = std::ranges::find(all_engines, name, &Engine::name);
    return found == all_engines.end() ? nullptr : &*found;
}

}  // namespace tiderace::lab::engine
