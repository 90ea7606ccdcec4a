#include "tiderace/testing/recorded_exchange.h"

#include <gtest/gtest.h>

namespace tiderace::testing {
namespace {

class Counting final : public http::BodySource {
  public:
    State pull(core::BlockPool& blocks, core::SendQueue& out, std::size_t) override {
        if (left_ == 0) return State::failed;
        out.append(blocks, "tick ");
        return --left_ == 0 && ends_ ? State::end : State::more;
    }
    Counting(int left, bool ends) : left_(left), ends_(ends) {}

  private:
    int left_;
    bool ends_;
};

TEST(RecordedExchange, RecordsWhatWasAnswered) {
    auto loop = std::move(*core::EventLoop::create({}));
    RecordedExchange exchange(*loop, "GET", "/a?b=c", {{"Accept", "x"}});
    EXPECT_EQ(exchange.request().path, "/a");
    EXPECT_EQ(exchange.request().query, "b=c");
    EXPECT_EQ(exchange.request().header(http::wire::FieldName::accept), "x");
    http::Response response(201);
    response.add("X-Tide", "high");
    response.set_body("body");
    exchange.respond(response);
    EXPECT_EQ(exchange.status(), 201);
    EXPECT_EQ(exchange.header("x-tide"), "high");
    EXPECT_EQ(exchange.content_length(), 4);
    EXPECT_EQ(exchange.body(), "body");
}

TEST(RecordedExchange, PullsASourceToItsEnd) {
    auto loop = std::move(*core::EventLoop::create({}));
    RecordedExchange whole(*loop, "GET", "/"), cut(*loop, "GET", "/");
    http::Response response;
    response.set_body(std::make_unique<Counting>(3, true));
    whole.respond(response);
    EXPECT_EQ(whole.body(), "tick tick tick ");
    EXPECT_EQ(whole.content_length(), -1);
    http::Response failing;
    failing.set_body(std::make_unique<Counting>(2, false));
    cut.respond(failing);
    EXPECT_FALSE(cut.finish());
    EXPECT_TRUE(cut.broken());
}

// Says that it has more, and brings it only after so many pulls without a byte.
class Late final : public http::BodySource {
  public:
    explicit Late(std::size_t empty_pulls) : left_(empty_pulls) {}
    State pull(core::BlockPool& blocks, core::SendQueue& out, std::size_t) override {
        if (left_ > 0) return --left_, State::more;
        out.append(blocks, "late");
        return State::end;
    }

  private:
    std::size_t left_;
};

TEST(RecordedExchange, BreaksOffASourceThatNeverBringsAnything) {
    constexpr std::size_t most = RecordedExchange::empty_pulls_max;
    auto loop = std::move(*core::EventLoop::create({}));
    for (const std::size_t empty_pulls : {most - 1, most, std::size_t{1} << 40}) {
        RecordedExchange exchange(*loop, "GET", "/");
        http::Response response;
        response.set_body(std::make_unique<Late>(empty_pulls));
        exchange.respond(response);
        EXPECT_EQ(exchange.finish(), empty_pulls < most) << empty_pulls;
        EXPECT_EQ(exchange.body(), empty_pulls < most ? "late" : "") << empty_pulls;
    }
}

}  // namespace
}  // namespace tiderace::testing
