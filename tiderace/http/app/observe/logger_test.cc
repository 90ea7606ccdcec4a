#include "tiderace/http/app/observe/logger.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "tiderace/app.h"
#include "tiderace/http/app/app_fixture.h"
#include "tiderace/log/ring_fixture.h"

namespace tiderace::http {
namespace {

using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::Not;

class LoggerTest : public AppTest {
  protected:
    LoggerTest() {
        world.loop().set_log(&to_);
        app.use(request_ids(true));
    }
    ~LoggerTest() override { world.loop().set_log(nullptr); }
    std::string lines() { return log::take_all(ring_); }

    std::atomic<log::Level> level = log::Level::info;

  private:
    log::SystemTime time_;
    log::Doorbell bell_;
    log::Ring ring_{1_MiB, bell_};
    log::Logger to_{ring_, time_, {.shared_level = &level}};
};

TEST_F(LoggerTest, ALineHasItsRequest) {
    app.get<"/orders/{id}">([](int id, Logger log) {
        log.info("an order", log::field("id", id));
        return "";
    });
    ask("GET", "/orders/7", "X-Request-Id: mine\r\n");
    EXPECT_THAT(lines(), EndsWith("info app: an order request_id=mine method=GET "
                                  "route=/orders/{id} id=7\n"));
}

TEST_F(LoggerTest, MiddlewareAndTasksHaveItToo) {
    app.use([](Logger log) { log.info("middleware"); });
    app.get<"/">([](Logger log) -> Task<std::string> {
        co_await task::sleep(1s);
        log.warning("later");
        co_return "";
    });
    ask("GET", "/", "X-Request-Id: one\r\n");
    const std::string all = lines();
    EXPECT_THAT(all, HasSubstr("info app: middleware request_id=one method=GET route=/\n"));
    EXPECT_THAT(all, HasSubstr("warning app: later request_id=one method=GET route=/\n"));
    ask("GET", "/absent", "X-Request-Id: two\r\n");
    EXPECT_THAT(lines(), EndsWith("middleware request_id=two method=GET route=\"\"\n"));
}

TEST_F(LoggerTest, TheLevelChangesWhileItRuns) {
    app.get<"/">([](Logger log) {
        log.debug("details");
        return log.enabled(log::Level::debug) ? "on" : "off";
    });
    EXPECT_EQ(body_of(get("/")), "off");
    EXPECT_EQ(lines(), "");
    level = log::Level::debug;
    EXPECT_EQ(body_of(get("/")), "on");
    EXPECT_THAT(lines(), HasSubstr("debug app: details"));
}

TEST_F(LoggerTest, NothingThatAClientSendsBeginsALineOrAField) {
    app.post<"/">([](Body body, Logger log) {
        log.info("sent", log::field("text", body.bytes()));
        return "";
    });
    ask("POST", "/", "X-Request-Id: z\"b\r\n", "a\nerror app: forged b=1\"\x1b");
    const std::string all = lines();
    EXPECT_EQ(std::ranges::count(all, '\n'), 1);
    EXPECT_THAT(all, EndsWith(R"(text="a\nerror app: forged b=1\"\x1b")"
                              "\n"));
    EXPECT_THAT(all, Not(HasSubstr("request_id=z")));
}

TEST_F(LoggerTest, AnExceptionHasItsTypeItsMessageAndItsRequest) {
    app.get<"/{name}">([](std::string name) -> std::string {
        if (name == "number") throw 7;
        throw std::out_of_range(name);
    });
    ask("GET", "/none", "X-Request-Id: mine\r\n");
    EXPECT_THAT(lines(), HasSubstr("by=\"a handler\" request_id=mine method=GET route=/{name} "
                                   "type=std::out_of_range what=none\n"));
    get("/number");
    EXPECT_THAT(lines(), HasSubstr("type=int what=\"not a std::exception\"\n"));
}

}  // namespace
}  // namespace tiderace::http
