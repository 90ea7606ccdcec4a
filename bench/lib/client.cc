// lib_client: http::Client as a load.
//
//   lib_client URL CONNECTIONS SECONDS BYTES
//
// As many tasks, each of which sends a request when the last one is answered. Every answer must be
// 200 and have as many bytes. Prints what it counted as JSON.
#include <tiderace/client.h>
#include <tiderace/task.h>

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>

using tiderace::Task;
namespace http = tiderace::http;

namespace {

struct Load {
    std::string url;
    std::size_t bytes;
    std::chrono::steady_clock::time_point end;
    std::uint64_t answers = 0;
    std::string fault = {};
};

Task<> ask(http::Client& client, Load& load) {
    while (std::chrono::steady_clock::now() < load.end && load.fault.empty()) {
        auto answer = co_await client.get(load.url);
        if (!answer) {
            load.fault = answer.error().message;
        } else if (answer->status != 200 || answer->text().size() != load.bytes) {
            load.fault = "another answer";
        } else {
            ++load.answers;
        }
    }
}

Task<> ask_on_all(Load& load, std::size_t connections) {
    http::ClientOptions options;
    options.pool.connections_per_host_max = connections;
    http::Client client(options);
    tiderace::Scope scope;
    for (std::size_t i = 0; i < connections; ++i) scope.spawn(ask(client, load));
    co_await scope.join();
}

}  // namespace

int main(int argc, char** argv) {
    if (argc != 5) {
        std::fputs("usage: lib_client URL CONNECTIONS SECONDS BYTES\n", stderr);
        return 2;
    }
    const auto began = std::chrono::steady_clock::now();
    const std::chrono::duration<double> time(std::strtod(argv[3], nullptr));
    Load load{argv[1], std::strtoul(argv[4], nullptr, 10),
              began + std::chrono::duration_cast<std::chrono::nanoseconds>(time)};
    tiderace::run(ask_on_all(load, std::strtoul(argv[2], nullptr, 10)));
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - began;
    if (!load.fault.empty()) {
        std::fprintf(stderr, "lib_client: %s: %s\n", argv[1], load.fault.c_str());
        return 1;
    }
    std::printf("{\"answers\": %llu, \"seconds\": %.6f}\n",
                static_cast<unsigned long long>(load.answers), took.count());
    return 0;
}
