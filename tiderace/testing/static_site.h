// StaticSite: for tests of what serves files: a folder, a loop whose clock stands still, and a
// StaticFiles of that folder.
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

namespace tiderace::testing {

class StaticSite : public ::testing::Test {
  protected:
    using Fields = RecordedExchange::Fields;

    StaticSite() {
        clock_.set_unix(2'500'000'000);  // later than any file here was written
        core::LoopOptions options;
        options.backend.kernel = &kernel_;
        options.clock = &clock_;
        loop_ = std::move(*core::EventLoop::create(options));
        options_.root = folder_.path();
        options_.watch.on = false;  // tests of it turn it on
    }

    http::handler::StaticFiles& server() {
        if (!server_) server_ = std::move(*http::handler::StaticFiles::create(*loop_, options_));
        return *server_;
    }
    // The answer to one request, its body not taken yet.
    RecordedExchange& ask(std::string_view method, std::string_view target, Fields fields = {}) {
        exchange_ = core::make_ref<RecordedExchange>(*loop_, method, target, std::move(fields));
        server().handle(*exchange_);
        return *exchange_;
    }
    RecordedExchange& get(std::string_view target, Fields fields = {}) {
        ask("GET", target, std::move(fields));
        exchange_->finish();
        return *exchange_;
    }
    void pass(Duration time) {
        clock_.advance(time);
        loop_->turn(0s);
    }

    TemporaryFolder folder_;
    FaultKernel kernel_;
    ManualClock clock_;
    std::unique_ptr<core::EventLoop> loop_;
    http::handler::StaticFilesOptions options_;
    std::unique_ptr<http::handler::StaticFiles> server_;
    core::Ref<RecordedExchange> exchange_;
};

}  // namespace tiderace::testing
