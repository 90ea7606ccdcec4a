// StaticFiles over a real folder.
#include "tiderace/http/handler/static_files.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tiderace/testing/fault_kernel.h"
#include "tiderace/testing/manual_clock.h"
#include "tiderace/testing/recorded_exchange.h"
#include "tiderace/testing/temporary_folder.h"

namespace tiderace::http::handler {
namespace {

using testing::RecordedExchange;

// A folder, a loop whose clock stands still, and a server of that folder.
class StaticFilesTest : public ::testing::Test {
  protected:
    StaticFilesTest() {
        clock_.set_unix(2'000'000'000);
        core::LoopOptions options;
        options.backend.kernel = &kernel_;
        options.clock = &clock_;
        loop_ = std::move(*core::EventLoop::create(options));
        options_.root = folder_.path();
    }

    StaticFiles& server() {
        if (!server_) server_ = std::move(*StaticFiles::create(*loop_, options_));
        return *server_;
    }
    // The answer to one request, its body taken.
    RecordedExchange& get(std::string_view target, RecordedExchange::Fields fields = {},
                          std::string_view method = "GET") {
        exchange_ = core::make_ref<RecordedExchange>(*loop_, method, target, std::move(fields));
        server().handle(*exchange_);
        exchange_->finish();
        return *exchange_;
    }
    void pass(Duration time) {
        clock_.advance(time);
        loop_->turn(0s);
    }

    testing::TemporaryFolder folder_;
    testing::FaultKernel kernel_;
    testing::ManualClock clock_;
    std::unique_ptr<core::EventLoop> loop_;
    StaticFilesOptions options_;
    std::unique_ptr<StaticFiles> server_;
    core::Ref<RecordedExchange> exchange_;
};

TEST_F(StaticFilesTest, AFileIsAnsweredWithItsBytesAndWhatDescribesThem) {
    folder_.write("a.css", "body{}");
    folder_.set_time("a.css", 784'111'777);
    const auto& answer = get("/a.css");
    EXPECT_EQ(answer.status(), 200);
    EXPECT_EQ(exchange_->body(), "body{}");
    EXPECT_EQ(answer.content_length(), 6);
    EXPECT_EQ(answer.field("Content-Type"), "text/css; charset=utf-8");
    EXPECT_EQ(answer.field("Last-Modified"), "Sun, 06 Nov 1994 08:49:37 GMT");
    EXPECT_EQ(answer.field("Accept-Ranges"), "bytes");
    EXPECT_EQ(answer.field("X-Content-Type-Options"), "nosniff");
    EXPECT_THAT(answer.field("ETag"), ::testing::MatchesRegex("\".+\""));
    EXPECT_FALSE(answer.has("Vary"));
}

}  // namespace
}  // namespace tiderace::http::handler
