// tidy: table
#include "lab/report/published.h"

#include <array>

namespace tiderace::lab::report {
namespace {

constexpr std::array all_published{
    Published{
        "“Web server as a test task”, 2012: epoll, libevent, Asio",
        "https://github.com/asavan/epoll_http_server",
        "A file of 2,496,629 bytes, 100 connections: 429, 330 and 128 requests a second.",
        "The epoll and Asio servers closed after each answer, the libevent one kept its "
        "connections. The libevent loop slept 10 ms at a time; the Asio one read the whole file "
        "anew for each request, in pieces of 512 bytes. One run of five seconds, load and server "
        "on one laptop.",
        "w0-close", "epoll,queue,libevent,asio-shared,asio-http"},
    Published{
        "http-server, four architectures, 2023", "https://github.com/EnqueueDuck/http-server",
        "“10,000 connections”: 294k requests a second (libevent), 384k (epoll), 221k (epoll, "
        "blocking reads), 20.7k (a thread pool).",
        "The load was 1,013 connections: 8,987 of the 10,000 failed to connect, because the "
        "descriptor limit was 1,024. In two of the "
        "four a worker stays with one connection until it ends, so three to seven clients were "
        "served and the others starved; their fine latency is an artefact. One of the four was "
        "loaded from another machine.",
        "w1", "epoll,libevent,blocking-epoll,pool"},
    Published{
        "clowwindy_server, “faster than nginx”", "https://github.com/xieqiyu/clowwindy_server",
        "57,244 bytes, a connection for each request: 4,463 requests a second at 100 "
        "connections and 4,446 at 10,000; nginx 4,017 and 3,684.",
        "10,000 requests in all, so two seconds; no repeat, no spread, ab on the same machine. "
        "Whether nginx 0.7.67 wrote its log meanwhile is not told. The other knew one content "
        "type, and refused every request of more than 1,023 bytes.",
        "w2", "epoll-et,nginx"},
    Published{
        "Facebooc, select replaced by epoll", "https://github.com/jserv/facebooc",
        "A page of 3,658 bytes: 2,210, 2,659 and 1,301 requests a second for 100, 1,000 and "
        "10,000 requests; the slowest took 7.7 s.",
        "The listening queue held one connection. A SYN that found it full was sent again after "
        "1, 3 and 7 seconds, which is the tail that was measured; neither select nor epoll has a "
        "part in it. The page is a file here, and no application renders it.",
        "w4", "select,epoll-et"},
    Published{
        "Turtle, 2023, with TinyWebServer, muduo, libevent", "https://github.com/YukunJ/Turtle",
        "10,500 clients: Turtle 62.3k requests a second, muduo 48.3k, TinyWebServer 38.5k, "
        "libevent 29.0k.",
        "By the published script the client asked in HTTP/1.0 and counted any end of stream as a "
        "success. Turtle and "
        "TinyWebServer take only HTTP/1.1: their rates are those of an empty 400 and of a 404 "
        "page. TinyWebServer's published bytes are 112 a page, the length of its 404. The other "
        "two really answered.",
        "w4", "epoll,libevent,evhttp"}};

}  // namespace

std::span<const Published> published() {
    return all_published;
}

}  // namespace tiderace::lab::report
