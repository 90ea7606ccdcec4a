// hello: an HTTP application in a few lines.
//
//   hello [ADDRESS]          127.0.0.1:8080 by default
#include <tiderace/app.h>

#include <cstdint>
#include <optional>
#include <string>

using namespace std::chrono_literals;

using tiderace::http::App;
using tiderace::http::Body;
using tiderace::http::Created;
using tiderace::http::Events;
using tiderace::http::Json;

struct User {
    std::uint64_t id;
    std::string name;
};

int main(int argc, char** argv) {
    App app;
    app.get<"/">([] { return "hello\n"; });
    app.get<"/users/{id}">([](std::uint64_t id) -> std::optional<User> {  // JSON, or 404
        if (id != 7) return std::nullopt;
        return User{7, "ann"};
    });
    app.post<"/users">([](Json<User> user) -> Created<User> {  // 400, 415, 422 by itself
        return {"/users/" + std::to_string(user->id), *user};
    });
    app.post<"/echo">([](Body body) { return std::move(body).text(); });  // bounded: 413
    app.get<"/ticks">([]() -> Events {
        for (int i = 0;; ++i) {
            co_yield {.data = std::to_string(i)};
            co_await tiderace::sleep(1s);
        }
    });
    return app.serve({.listen = argc > 1 ? argv[1] : "127.0.0.1:8080"});
}
