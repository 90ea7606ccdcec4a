// echo_raw: a TCP echo on Tiderace's own net, one loop. Prints its port; ends on SIGTERM. What the
// WebSocket echo is measured against.
#include <cstdio>
#include <memory>
#include <utility>

#include "tiderace/net/listener.h"
#include "tiderace/net/tcp_server.h"

namespace tiderace::bench {
namespace {

class Echo final : public net::Session, public net::SessionFactory {
  public:
    net::Session& make_session(net::Connection&) override { return *this; }
    std::size_t on_data(net::Connection& connection, ByteView data) override {
        connection.write(data);
        return data.size();
    }
    void on_close(net::Connection&, net::CloseReason) override {}
};

int serve() {
    auto loop = core::EventLoop::create({});
    if (!loop) return std::puts(loop.error().message().c_str());
    auto listener = net::open_listener((*loop)->kernel(), core::Address::loopback(0), {});
    if (!listener) return std::puts(listener.error().message().c_str());
    std::printf("%u\n", net::local_address((*loop)->kernel(), *listener).port());
    std::fflush(stdout);
    Echo echo;
    net::TcpServer server(**loop, echo, {});
    server.listen(std::move(*listener));
    (*loop)->run();
    return 0;
}

}  // namespace
}  // namespace tiderace::bench

int main() {
    return tiderace::bench::serve();
}
