#include "tiderace/serve/tcp_service.h"

#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "tiderace/http/app/app.h"
#include "tiderace/serve/serve.h"
#include "tiderace/tcp/connect.h"

namespace tiderace::http {
namespace {

static_assert(std::is_same_v<http::ListenOn, tcp::ListenOn>, "one list of addresses fits both");

struct Words {
    std::vector<std::string> all;
};
struct Greeting {
    std::string text;
};

class TcpServiceTest : public ::testing::Test {
  protected:
    TcpServiceTest() { app.share(greeting); }

    // Runs `ask` on the App's loop once it serves, and drains when that has ended.
    int serve(std::shared_ptr<const TcpService> service,
              std::function<task::Task<>(tcp::Stream, Words&)> ask) {
        app.state<Words>([](core::EventLoop&) { return std::make_unique<Words>(); });
        const auto run = [this, ask](Words& words) -> task::Task<> {
            auto stream = co_await tcp::connect(at.at(1).to_string());
            EXPECT_TRUE(stream) << (stream ? "" : stream.error().message());
            if (stream) co_await ask(std::move(*stream), words);
            app.drain();
        };
        app.background(run, {.grace = 10s});  // it may hear what a drain does
        return app.serve({.listen = "127.0.0.1:0",
                          .tcp = {std::move(service)},
                          .threads = 1,
                          .on_listening = [&](const auto& addresses) { at = addresses; }});
    }

    Greeting greeting{"hello "};
    App app;
    std::vector<core::Address> at;
};

TEST_F(TcpServiceTest, AHandlerHasTheStatesOfItsLoop) {
    const auto greet = [](tcp::Stream stream, Words& words, const Greeting& text) -> task::Task<> {
        while (auto line = co_await stream.read(tcp::Line{})) {
            words.all.emplace_back(*line);
            const std::string answer = text.text + words.all.back() + "\n";
            co_await stream.write(answer);
        }
    };
    std::string heard;
    std::vector<std::string> words;
    const auto ask = [&](tcp::Stream stream, Words& own) -> task::Task<> {
        co_await stream.write("ann\n");
        auto line = co_await stream.read(tcp::Line{});
        heard = line ? std::string(*line) : "nothing";
        words = own.all;
    };
    EXPECT_EQ(serve(tcp_service("127.0.0.1:0", greet), ask), 0);
    EXPECT_EQ(heard, "hello ann");
    EXPECT_EQ(words, std::vector<std::string>{"ann"});
}

TEST_F(TcpServiceTest, DrainingEndsAReadThatWaits) {
    auto end = tcp::End::none;
    const auto wait = [&end](tcp::Stream stream) -> task::Task<> {
        co_await stream.write("ready\n");
        co_await stream.read();
        end = stream.end();
    };
    const auto ask = [&](tcp::Stream stream, Words&) -> task::Task<> {
        co_await stream.read(tcp::Line{});
        app.drain();
        const auto more = co_await stream.read();
        EXPECT_FALSE(more);
    };
    EXPECT_EQ(serve(tcp_service("127.0.0.1:0", wait), ask), 0);
    EXPECT_EQ(end, tcp::End::stopping);
}

TEST_F(TcpServiceTest, AStateThatTheAppDoesNotHaveIsOneSentence) {
    const auto greet = [](tcp::Stream, Words&) -> task::Task<> { co_return; };
    ::testing::internal::CaptureStderr();
    EXPECT_EQ(app.serve({.listen = "127.0.0.1:0", .tcp = {tcp_service("127.0.0.1:0", greet)}}), 1);
    EXPECT_EQ(::testing::internal::GetCapturedStderr(),
              "app: serve 127.0.0.1:0: invalid argument; its handler takes a state that the App"
              " does not have\n");
}

}  // namespace
}  // namespace tiderace::http
