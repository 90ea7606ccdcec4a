// A folder of programs, a loop, and requests to them.
#pragma once

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <csignal>
#include <memory>
#include <string>

#include "tiderace/core/clock.h"
#include "tiderace/core/event_loop.h"
#include "tiderace/http/cgi/cgi.h"
#include "tiderace/testing/recorded_exchange.h"
#include "tiderace/testing/scarce_memory.h"
#include "tiderace/testing/temporary_folder.h"

namespace tiderace::http::cgi {

class CgiFixture : public ::testing::Test {
  protected:
    using Recorded = testing::RecordedExchange;

    CgiFixture() { options_.folder = folder_.path(); }

    // Of /bin/sh.
    void program(std::string_view name, std::string_view lines) {
        file(name, "#!/bin/sh\n" + std::string(lines) + "\n", 0755);
    }
    void file(std::string_view name, std::string_view bytes, mode_t mode) {
        folder_.write(name, bytes);
        ASSERT_EQ(::chmod(folder_.path_of(name).c_str(), mode), 0);
    }
    Cgi& cgi() {
        if (cgi_ == nullptr) cgi_ = std::move(*Cgi::create(*loop_, options_));
        return *cgi_;
    }
    core::Ref<Recorded> begin(std::string_view target, std::string_view method = "GET",
                              Recorded::Fields fields = {}) {
        auto exchange = core::make_ref<Recorded>(*loop_, method, target, std::move(fields));
        cgi().handle(*exchange);
        return exchange;
    }
    // A request without a body, to its end.
    core::Ref<Recorded> get(std::string_view target, std::string_view method = "GET",
                            Recorded::Fields fields = {}) {
        auto exchange = core::make_ref<Recorded>(*loop_, method, target, std::move(fields));
        exchange->set_bodiless();
        cgi().handle(*exchange);
        finish(*exchange);
        return exchange;
    }
    void finish(Recorded& exchange) {
        EXPECT_TRUE(until([&] {
            if (exchange.responded()) exchange.finish();
            return exchange.complete() || exchange.broken();
        }));
    }
    // A program writes it into its folder. The loop does not turn meanwhile.
    void wait_for_file(std::string_view name) {
        const std::string path = folder_.path_of(name);
        const core::SystemClock clock;
        const Instant end = clock.now() + 60s;
        while (::access(path.c_str(), F_OK) != 0 && clock.now() < end) ::usleep(1'000);
        EXPECT_EQ(::unlink(path.c_str()), 0);
    }
    template <typename Condition>
    bool until(Condition condition) {
        const core::SystemClock clock;
        for (const Instant end = clock.now() + 60s; !condition();) {
            if (clock.now() > end) return false;
            loop_->turn(5ms);
        }
        return true;
    }
    // False: the loop had no use for an nth allocation.
    bool turn_without_memory(std::uint64_t nth) {
        const testing::ScarceMemory scarce(nth);
        for (int i = 0; i < 3; ++i) loop_->turn(0ms);
        return scarce.failed();
    }
    bool all_gone() {
        return until([&] { return cgi().running() == 0; });
    }

    testing::TemporaryFolder folder_;
    CgiOptions options_;
    std::unique_ptr<core::EventLoop> loop_ = std::move(*core::EventLoop::create({}));
    std::unique_ptr<Cgi> cgi_;
};

}  // namespace tiderace::http::cgi
