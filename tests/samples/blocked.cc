// Handlers that keep their loop: /block for half a second, /wait not at all.
#include <tiderace/app.h>

#include <chrono>
#include <thread>

using namespace std::chrono_literals;

// With a name that the program exports, so that a stack can show it.
[[gnu::noinline]] void block_for_half_a_second() {
    const auto until = std::chrono::steady_clock::now() + 500ms;
    while (std::chrono::steady_clock::now() < until) std::this_thread::sleep_for(1ms);
}

int main(int argc, char** argv) {
    tiderace::http::App app;
    app.get<"/block">([] {
        block_for_half_a_second();
        return "done\n";
    });
    app.get<"/wait">([]() -> tiderace::Task<std::string> {
        co_await tiderace::sleep(500ms);
        co_return "done\n";
    });
    return app.serve({.listen = argc > 1 ? argv[1] : ":8080", .threads = 1, .watchdog = 100ms});
}
