// tidy: table
#include "lab/report/portraits.h"

#include <algorithm>
#include <array>

namespace tiderace::lab::report {
namespace {

constexpr std::array<std::string_view, families> titles{
    "One loop, five kernel interfaces",   "Three ways of asking epoll",
    "Threads, pools, processes",          "The loops of other libraries",
    "Whole servers, with their own HTTP", "Others"};

constexpr std::array all{
    Portrait{"epoll", Family::kernel,
             R"(wait ─► who is ready ─► recv ─► HTTP ─► queue
  ▲                                        │
  └───────────── one writev per turn ◄─────┘)"},
    Portrait{"io_uring", Family::kernel,
             R"(submit ring ─► kernel does accept, recv, send
  ▲                        │
HTTP ◄─── completions, with the bytes)"},
    Portrait{"poll", Family::kernel,
             R"(all sockets ─► poll ─► walk ─► recv ─► HTTP
  ▲                                      │
  └──────────────────────────────────────┘)"},
    Portrait{"select", Family::kernel,
             R"(bit sets ─► select ─► walk ─► recv ─► HTTP
  ▲          (0 … 1023)                 │
  └─────────────────────────────────────┘)"},
    Portrait{"kqueue", Family::kernel,
             R"(changes ─► kevent ─► events ─► recv ─► HTTP
  ▲                                     │
  └─────────────────────────────────────┘)"},

    Portrait{"epoll-lt", Family::epolls, R"(readable? ─► told each time until it is empty)"},
    Portrait{"epoll-et", Family::epolls, R"(news ─► told once ─► read all of it)"},
    Portrait{"epoll-oneshot", Family::epolls, R"(told once ─► off ─► handled ─► armed again)"},

    Portrait{"queue", Family::threads,
             R"(accept ─► [ bounded queue ] ─┬─► epoll worker
                             ├─► epoll worker
                             └─► epoll worker)"},
    Portrait{"threads", Family::threads,
             R"(accept ─┬─► thread: read ─► HTTP ─► write
        ├─► thread: read ─► HTTP ─► write
        └─► thread: …   one per connection)"},
    Portrait{"pool", Family::threads,
             R"(accept ─► [waiting] ─┬─► thread ═ connection
                     └─► thread ═ connection)"},
    Portrait{"blocking-epoll", Family::threads,
             R"(epoll ─► ready ─► read, HTTP, write: blocking
  ▲                               │
  └──── everybody else waits ◄────┘)"},
    Portrait{"prefork", Family::threads,
             R"(         ┌─► process: epoll loop
listener ┼─► process: epoll loop
         └─► process: epoll loop)"},

    Portrait{"libevent", Family::foreign,
             R"(event base ─► bufferevent ─► HTTP
    ▲        in evbuffer, out │
    └────── evbuffer ◄────────┘)"},
    Portrait{"asio-shared", Family::foreign,
             R"(               ┌─► thread ─┐
one io_context ┼─► thread ─┼─► strand ─► HTTP
   (locked)    └─► thread ─┘)"},
    Portrait{"asio-per-thread", Family::foreign,
             R"(thread: io_context ─► HTTP
thread: io_context ─► HTTP)"},

    Portrait{"evhttp", Family::servers, R"(event base ─► evhttp ─► callback ─► evbuffer)"},
    Portrait{"evhttp-sendfile", Family::servers, R"(event base ─► evhttp ─► callback ─► sendfile)"},
    Portrait{"asio-http", Family::servers, R"(io_context ─► parse ─► read file ─► write)"},
    Portrait{"nginx", Family::servers, R"(epoll ─► phases ─► header ─► sendfile)"},
    Portrait{"lighttpd", Family::servers, R"(epoll ─► state machine ─► sendfile)"},
    Portrait{"h2o", Family::servers, R"(epoll ─► handler ─► filters ─► writev)"},
    Portrait{"apache", Family::servers,
             R"(listener ─► worker ─► modules ─► sendfile
   ▲                                │
   └─────────── keep-alive ◄────────┘)"},
    Portrait{"caddy", Family::servers, R"(netpoll ─► a goroutine each ─► handlers)"},
    Portrait{"haproxy", Family::servers, R"(epoll ─► parse ─► rules ─► answer from memory)"},
    Portrait{"floor", Family::other, R"(epoll ─► read ─► prepared answer ─► write)"},
    Portrait{"floor-sendfile", Family::other, R"(epoll ─► read ─► head ─► sendfile)"}};

}  // namespace

std::string_view title_of(Family family) {
    return titles[static_cast<std::size_t>(family)];
}

std::span<const Portrait> portraits() {
    return all;
}

const Portrait* portrait_of(std::string_view name) {
    const auto found = std::ranges::find(all, name, &Portrait::name);
    return found == all.end() ? nullptr : &*found;
}

Family family_of(std::string_view name) {
    const Portrait* found = portrait_of(name);
    return found ? found->family : Family::other;
}

}  // namespace tiderace::lab::report
