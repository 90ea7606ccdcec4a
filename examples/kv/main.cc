// kv: a server of the Redis protocol. See README.md, or --help.
#include <cstdio>
#include <memory>
#include <string_view>
#include <vector>

#include "examples/kv/options.h"
#include "examples/kv/server.h"
#include "tiderace/net/serving.h"

int main(int argc, char** argv) {
    namespace net = tiderace::net;
    const std::vector<std::string_view> words(argv + 1, argv + argc);
    if (words.size() == 1 && words[0] == "--help") {
        std::fwrite(kv::usage.data(), 1, kv::usage.size(), stdout);
        return 0;
    }
    const auto options = kv::parse_options(words);
    if (!options) {
        std::fprintf(stderr, "kv: %s\n", options.error().message().c_str());
        return 2;
    }
    // An answer may be as long as the longest value; the bound of all is what counts.
    net::Serving serving({.program = "kv",
                          .listen = options->listen,
                          .threads = 1,  // one loop has all keys, so no command takes a lock
                          .engine = options->engine,
                          // No lower mark: a client may send all commands before it reads.
                          .connection = {.queue_bytes_max = options->output_bytes_max,
                                         .queue_bytes_high = options->output_bytes_max},
                          .connections_max = options->connections_max,
                          .send_bytes_max = options->output_bytes_max,
                          .refusal = "-ERR max number of clients reached\r\n",
                          .reaps_orphans = false});  // Snapshots waits for its own child
    return serving.run([&](tiderace::core::EventLoop& loop)
                           -> tiderace::Result<std::unique_ptr<net::LoopService>> {
        auto server = std::make_unique<kv::Server>(loop, *options, [&serving] { serving.stop(); });
        const auto started = server->start();
        if (!started) return tiderace::fail(started.error());
        std::fputs(started->c_str(), stderr);
        return server;
    });
}
