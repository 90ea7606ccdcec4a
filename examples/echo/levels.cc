// echo_levels: the TCP echo at the three levels of the library, one after the other in this file.
//
//   echo_levels session|callbacks|coroutine LISTEN [THREADS]
//
// session    the waist itself: a net::Session on a connection, for protocols that need every cycle
// callbacks  tcp::Server
// coroutine  tcp::serve
#include <tiderace/tcp.h>

#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>
#include <string_view>

#include "tiderace/net/serving.h"

namespace net = tiderace::net;
namespace tcp = tiderace::tcp;
using tiderace::ByteView;
using tiderace::Task;

namespace {

class EchoLoop final : public net::LoopService, private net::SessionFactory, private net::Session {
    net::SessionFactory& sessions(std::size_t) override { return *this; }
    net::Session& make_session(net::Connection&) override { return *this; }
    std::size_t on_data(net::Connection& connection, ByteView in) override {
        connection.write(in);
        return in.size();
    }
    void on_close(net::Connection&, net::CloseReason) override {}
};

int session(const std::string& listen, std::size_t threads) {
    net::Serving serving({.program = "echo", .listen = {listen}, .threads = threads});
    return serving.run([](tiderace::core::EventLoop&) { return std::make_unique<EchoLoop>(); });
}

int callbacks(const std::string& listen, std::size_t threads) {
    return tcp::Server(listen, {.threads = threads, .program = "echo"})
        .on_data([](tcp::Peer& peer, ByteView in) {
            peer.write(in);
            return in.size();
        })
        .run();
}

int coroutine(const std::string& listen, std::size_t threads) {
    return tcp::serve(listen,
                      [](tcp::Stream s) -> Task<> {
                          while (auto bytes = co_await s.read()) co_await s.write(*bytes);
                      },
                      {.threads = threads, .program = "echo"});
}

}  // namespace

int main(int argc, char** argv) {
    const std::string_view level = argc > 2 ? argv[1] : "";
    const std::size_t threads = argc > 3 ? std::strtoul(argv[3], nullptr, 10) : 0;
    if (level == "session") return session(argv[2], threads);
    if (level == "callbacks") return callbacks(argv[2], threads);
    if (level == "coroutine") return coroutine(argv[2], threads);
    std::fputs("usage: echo_levels session|callbacks|coroutine LISTEN [THREADS]\n", stderr);
    return 2;
}
