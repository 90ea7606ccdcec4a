// proxy: what comes in at one address goes out to another, and what comes back goes back.
//
//   proxy LISTEN TARGET         proxy :8080 example.org:80
#include <tiderace/tcp.h>

#include <cstdio>
#include <string>

namespace tcp = tiderace::tcp;
using tiderace::Task;
using namespace std::chrono_literals;

namespace {

// One direction. The end of what comes in is passed on, and the other direction goes on.
Task<> pump(tcp::Stream& from, tcp::Stream& to) {
    while (auto bytes = co_await from.read()) {
        if (!co_await to.write(*bytes)) break;
    }
    from.end() == tcp::End::lost ? to.abort() : to.finish();  // a cut stream must not look whole
}

Task<> forward(tcp::Stream client, std::string target) {
    auto server = co_await tcp::connect(target, {.timeout = 5s, .attempts = 2});
    if (!server) {
        std::fprintf(stderr, "proxy: %s\n", server.error().message().c_str());
        co_return client.abort();
    }
    co_await tiderace::when_all(pump(client, *server), pump(*server, client));
}

}  // namespace

int main(int argc, char** argv) {
    if (argc != 3) return std::fputs("usage: proxy LISTEN TARGET\n", stderr), 2;
    const auto session = [target = argv[2]](tcp::Stream client) {
        return forward(std::move(client), target);
    };
    return tcp::serve(argv[1], session, {.program = "proxy"});
}
