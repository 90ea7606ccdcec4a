// lib_app: what `./dev bench lib` asks of an App.
//
//   lib_app plain|coroutine|waiting PORT [ROUTES]
//
// plain      handlers are functions
// coroutine  the text comes from a coroutine that does not suspend
// waiting    … from one that suspends once
// ROUTES     how many "/rN/users/{id}" there are beside them
#include <tiderace/app.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

using namespace std::chrono_literals;
namespace http = tiderace::http;
using tiderace::Task;

namespace {

struct User {
    std::uint64_t id;
    std::string name;
    std::string email;
    int age;
    bool active;
    double score;
    std::string city;
    std::vector<std::string> tags;
    std::optional<std::string> note;
    std::int64_t visits;
};

User ada() {
    return {1'234'567,
            "Ada Lovelace",
            "ada@example.org",
            36,
            true,
            97.25,
            "London W1K",
            {"mathematics", "poetry"},
            "writes programs",
            128'000};
}

void add_text(http::App& app, std::string_view kind) {
    if (kind == "coroutine") {
        app.get<"/hello.txt">([]() -> Task<const char*> { co_return "hello\n"; });
    } else if (kind == "waiting") {
        app.get<"/hello.txt">([]() -> Task<const char*> {
            co_await tiderace::yield();
            co_return "hello\n";
        });
    } else {
        app.get<"/hello.txt">([] { return "hello\n"; });
    }
}

void add_routes(http::App& app, unsigned long count) {
    for (unsigned long i = 0; i < count; ++i) {
        app.route(http::wire::Method::get, "/r" + std::to_string(i) + "/users/{id}",
                  [](std::uint64_t) { return "hello\n"; });
    }
}

}  // namespace

int main(int argc, char** argv) {
    if (argc < 3) {
        std::fputs("usage: lib_app plain|coroutine|waiting PORT [ROUTES]\n", stderr);
        return 2;
    }
    http::App app;
    add_text(app, argv[1]);
    add_routes(app, argc > 3 ? std::strtoul(argv[3], nullptr, 10) : 0);
    app.get<"/user.json">([] { return ada(); });
    app.post<"/user.json">([](http::Json<User> user) { return user; });
    app.get<"/events">([]() -> http::Events {
        for (;;) {
            co_yield {.data = "one"};
            co_await tiderace::sleep(1h);
        }
    });
    return app.serve({.listen = "127.0.0.1:" + std::string(argv[2]), .threads = 1});
}
