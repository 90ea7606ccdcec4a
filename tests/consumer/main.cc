// A user's service, which test_consumers.py builds in every way. It includes each umbrella
// header, and calls the parts that differ between builds most easily.
#include <tiderace/app.h>
#include <tiderace/client.h>
#include <tiderace/db.h>
#include <tiderace/json.h>
#include <tiderace/redis.h>
#include <tiderace/resp.h>
#include <tiderace/task.h>
#include <tiderace/tcp.h>
#include <tiderace/template.h>
#include <tiderace/testing.h>
#include <tiderace/websocket.h>

#include <cstdint>
#include <cstdio>
#include <optional>
#include <string>

using namespace tiderace;
using namespace tiderace::http;

// A body byte by byte, as parsers of streams are written: an await for each byte.
class Bytes {
  public:
    explicit Bytes(BodyStream body) : body_(std::move(body)) {}

    Task<std::optional<char>> next() {
        while (used_ == piece_.size()) {
            auto piece = co_await body_.next();
            if (!piece) co_return std::nullopt;
            piece_ = std::move(*piece);
            used_ = 0;
        }
        co_return piece_[used_++];
    }

  private:
    BodyStream body_;
    std::string piece_;
    std::size_t used_ = 0;
};

Task<int> one() {
    co_return 1;
}

Task<int> add_up(int count) {
    int sum = co_await offload([] { return 0; });
    for (int i = 0; i < count; ++i) sum += co_await one();
    co_return sum;
}

int main() {
    App app;
    app.get<"/squares/{number}">([](std::int64_t number) { return number * number; });
    app.post<"/bytes">([](BodyStream body) -> Task<std::string> {
        Bytes bytes(std::move(body));
        std::size_t count = 0;
        while (const auto byte = co_await bytes.next()) count += *byte == 'x' ? 1 : 0;
        co_return std::to_string(count);
    });
    testing::Client client(app);
    const auto square = client.get("/squares/7");
    const auto count = client.post("/bytes", std::string(900'000, 'x'));
    std::printf("%s %s %d\n", square.body.c_str(), count.body.c_str(), run(add_up(1'000'000)));
}
