// For tests: a folder, a loop whose clock stands still, and a StaticFiles of that folder.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>

#include "tiderace/http/handler/static_files.h"
#include "tiderace/testing/fault_kernel.h"
#include "tiderace/testing/manual_clock.h"
#include "tiderace/testing/recorded_exchange.h"
#include "tiderace/testing/temporary_folder.h"

namespace tiderace::http::handler {

class StaticFilesFixture : public ::testing::Test {
  protected:
    using Fields = testing::RecordedExchange::Fields;

    StaticFilesFixture() {
        clock_.set_unix(2'500'000'000);  // later than any file here was written
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
    // The answer to one request, its body not taken yet.
    testing::RecordedExchange& ask(std::string_view method, std::string_view target,
                                   Fields fields = {}) {
        exchange_ =
            core::make_ref<testing::RecordedExchange>(*loop_, method, target, std::move(fields));
        server().handle(*exchange_);
        return *exchange_;
    }
    testing::RecordedExchange& get(std::string_view target, Fields fields = {}) {
        ask("GET", target, std::move(fields));
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
    core::Ref<testing::RecordedExchange> exchange_;
};

}  // namespace tiderace::http::handler
