// A whole service in a few lines: what the library is for.
#include <tiderace/app.h>
#include <tiderace/websocket.h>

#include <cstdint>
#include <expected>
#include <optional>
#include <string>

using namespace tiderace;
using namespace tiderace::http;
using namespace std::chrono_literals;

struct User {
    std::uint64_t id;
    std::string name;
};
struct NewUser {
    std::string name;
};

static std::optional<User> find(std::uint64_t id) {
    if (id != 7) return std::nullopt;
    return User{7, "ann"};
}

int main() {
    tiderace::http::App app;
    app.get<"/">([] { return "hello\n"; });
    app.get<"/users/{id}">([](std::uint64_t id) -> std::optional<User> { return find(id); });
    app.post<"/users">([](Json<NewUser> user) -> std::expected<Created<User>, Problem> {
        if (user->name == "root") return std::unexpected(Problem{.status = 409});
        return Created<User>{"/users/8", {8, user->name}};
    });
    app.post<"/echo">([](Body body) { return std::move(body).text(); });
    app.get<"/ticks">([]() -> Events {
        for (int i = 0;; ++i) {
            co_yield {.data = std::to_string(i)};
            co_await sleep(1s);
        }
    });
    app.ws<"/chat">([&](WebSocket& socket) -> Task<> {
        while (auto m = co_await socket.receive()) co_await socket.send(*m);
    });
    app.files("/static", "public");
    return app.serve({.listen = ":8080"});
}
