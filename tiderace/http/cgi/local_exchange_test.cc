#include "tiderace/http/cgi/local_exchange.h"

#include <gtest/gtest.h>

#include <functional>
#include <memory>

#include "tiderace/http/cgi/cgi_fixture.h"
#include "tiderace/testing/fail_nth.h"
#include "tiderace/testing/scarce_memory.h"

namespace tiderace::http::cgi {
namespace {

// Answers local redirects as the test says.
class LocalExchangeTest : public CgiFixture, public Handler {
  protected:
    LocalExchangeTest() { options_.local = this; }
    void handle(Exchange& exchange) override {
        if (cgi().answers(exchange.request().path)) return cgi().handle(exchange);
        action_(exchange);
    }
    std::function<void(Exchange&)> action_;
};

TEST_F(LocalExchangeTest, TheAnswerOfThePathIsTheAnswer) {
    program("go", "echo 'Location: /b%20c?x=1'; echo");
    action_ = [](Exchange& exchange) {
        const Request& request = exchange.request();
        EXPECT_EQ(request.path, "/b c");
        EXPECT_EQ(request.query, "x=1");
        EXPECT_EQ(request.method(), wire::Method::get);
        EXPECT_EQ(request.head->find("X-A")->value, "1");
        EXPECT_EQ(request.head->find("Range"), nullptr);
        Response response(203);
        response.set_body("there\n");
        exchange.respond(response);
    };
    const auto answer = get("/cgi-bin/go", "POST", {{"X-A", "1"}, {"Range", "bytes=0-1"}});
    EXPECT_EQ(answer->status(), 203);
    EXPECT_EQ(answer->body(), "there\n");
    EXPECT_TRUE(all_gone());
}

TEST_F(LocalExchangeTest, MayLeadToAnotherProgramAndNotForEver) {
    program("go", "echo 'Location: /cgi-bin/end'; echo");
    program("end", "echo 'Content-Type: text/plain'; echo; echo end");
    program("round", "echo 'Location: /cgi-bin/round'; echo");
    EXPECT_EQ(get("/cgi-bin/go")->body(), "end\n");
    EXPECT_EQ(get("/cgi-bin/round")->status(), 502);
    EXPECT_TRUE(all_gone());
}

TEST_F(LocalExchangeTest, IsAbandonedWithTheFirst) {
    program("go", "echo 'Location: /later'; echo");
    core::Ref<Exchange> kept;
    int abandoned = 0;
    action_ = [&](Exchange& exchange) {
        kept = exchange.defer();
        exchange.on_abandoned([&] { ++abandoned; });
    };
    auto answer = begin("/cgi-bin/go");
    answer->end_body();
    ASSERT_TRUE(until([&] { return static_cast<bool>(kept); }));
    answer->hang_up();
    EXPECT_EQ(abandoned, 1);
    answer = {};
    kept->respond_status(200);  // nothing happens
    EXPECT_NE(kept->request().peer, nullptr);
}

TEST_F(LocalExchangeTest, AnswersLater) {
    program("go", "echo 'Location: /later'; echo");
    core::Ref<Exchange> kept;
    action_ = [&](Exchange& exchange) { kept = exchange.defer(); };
    const auto answer = begin("/cgi-bin/go");
    answer->end_body();
    ASSERT_TRUE(until([&] { return static_cast<bool>(kept); }));
    kept->respond_status(204);
    EXPECT_EQ(answer->status(), 204);
}

TEST_F(LocalExchangeTest, AHandlerThatDoesNothingOrThrowsIs500) {
    program("go", "echo 'Location: /x'; echo");
    action_ = [](Exchange&) {};
    EXPECT_EQ(get("/cgi-bin/go")->status(), 500);
    action_ = [](Exchange&) { throw 7; };
    EXPECT_EQ(get("/cgi-bin/go")->status(), 500);
}

// The program's exchange is given up for the other one, and is answered all the same.
TEST_F(LocalExchangeTest, WithoutMemoryForTheOtherTheClientIsAnswered) {
    if (!testing::ScarceMemory::works) GTEST_SKIP() << testing::ScarceMemory::why_not;
    program("go", "echo 'Location: /b'; echo; : >written");
    action_ = [](Exchange& exchange) { exchange.respond_status(204); };
    const std::uint64_t allocations = testing::fail_each([&](std::uint64_t nth) {
        const auto exchange = begin("/cgi-bin/go");
        exchange->end_body();
        wait_for_file("written");
        const bool failed = turn_without_memory(nth);
        EXPECT_TRUE(until([&] { return exchange->responded() || exchange->broken(); })) << nth;
        EXPECT_TRUE(exchange->status() == 204 || exchange->status() >= 500) << nth;
        EXPECT_TRUE(all_gone()) << nth;
        return failed && !HasFailure();
    });
    EXPECT_GT(allocations, 5U);
}

TEST_F(LocalExchangeTest, ABadPathIs502) {
    program("go", "echo 'Location: /%zz'; echo");
    action_ = [](Exchange&) { ADD_FAILURE(); };
    EXPECT_EQ(get("/cgi-bin/go")->status(), 502);
}

}  // namespace
}  // namespace tiderace::http::cgi
