#include "server/assemble.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <new>
#include <string>
#include <utility>
#include <vector>

#include "tiderace/testing/temporary_folder.h"

namespace tiderace::server {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::internal::CaptureStderr;
using ::testing::internal::GetCapturedStderr;

// What ends, in its order.
struct Ends {
    std::vector<std::string> order;
    std::string root;  // the served folder

    void note(const std::string& what) {
        order.push_back(what +
                        (root_is_open() ? ", the folder is open" : ", the folder is closed"));
    }
    // Whether a worker has it open, as each does.
    bool root_is_open() const {
        std::error_code fault;
        for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd", fault)) {
            if (std::filesystem::read_symlink(entry.path(), fault) == root) return true;
        }
        return false;
    }
};

class NotedIntake final : public net::Intake {
  public:
    explicit NotedIntake(Ends& ends) : ends_(&ends) {}
    ~NotedIntake() override { ends_->note("intake"); }
    void listen(core::Descriptor) override {}
    void listen_layered(core::Descriptor) override {}
    void stop() override {}
    std::uint64_t refused() const override { return 0; }

  private:
    Ends* ends_;
};

// Loops that never turn. They refuse to start, or have run before they began.
class NotedLoops final : public net::LoopGroup {
  public:
    NotedLoops(std::vector<std::unique_ptr<core::EventLoop>> loops, Ends& ends, bool starts)
        : LoopGroup(std::move(loops)), ends_(&ends), starts_(starts) {}
    ~NotedLoops() override {
        ends_->note("loops");
        loop(0).log()->warning("test", "the log outlives the loops");
    }
    Result<> start() override {
        if (starts_) return {};
        return fail(Error(EAGAIN, "start", "the loops"));
    }
    void run() override {}
    std::unique_ptr<net::Intake> make_intake(std::vector<net::Intake::Target>,
                                             const net::IntakeOptions&) override {
        return std::make_unique<NotedIntake>(*ends_);
    }

  private:
    Ends* ends_;
    bool starts_;
};

Loops noted(Ends& ends, bool starts) {
    return {.count = 2,
            .make = [&ends, starts](const core::LoopOptions& options)
                -> Result<std::unique_ptr<net::LoopGroup>> {
                std::vector<std::unique_ptr<core::EventLoop>> loops;
                for (int i = 0; i < 2; ++i) {
                    loops.push_back(std::move(*core::EventLoop::create(options)));
                }
                return std::make_unique<NotedLoops>(std::move(loops), ends, starts);
            },
            .listens_apart = true};
}

// Without memory for its loops.
Result<std::unique_ptr<net::LoopGroup>> make_none(const core::LoopOptions&) {
    throw std::bad_alloc();
}

int serve_on(const ServeOptions& options, Loops loops) {
    return report([&]() -> Result<int> {
        Assembly assembly({.options = options});
        if (auto opened = assembly.open(); !opened) return fail(opened.error());
        if (auto served = assembly.serve(std::move(loops)); !served) return fail(served.error());
        return 0;
    });
}

class AssembleTest : public ::testing::Test {
  protected:
    AssembleTest() {
        folder_.make_folder("root");
        options_.root = folder_.path_of("root");
        options_.listen = {"unix:" + folder_.path_of("socket")};
        options_.listen_is_default = false;
        options_.quiet = true;
        // A process that gave up root would be no place for further tests.
        if (::geteuid() == 0) options_.user = "root";
    }
    bool has_name() const { return ::access(folder_.path_of("socket").c_str(), F_OK) == 0; }

    testing::TemporaryFolder folder_;
    ServeOptions options_;
};

TEST_F(AssembleTest, WhatUsesTheLoopsEndsBeforeThemAndTheLogBehindThem) {
    if (!std::filesystem::exists("/proc/self/fd")) GTEST_SKIP() << "seen by /proc, as Linux has it";
    for (const bool starts : {false, true}) {
        SCOPED_TRACE(starts);
        Ends ends{.order = {}, .root = std::filesystem::canonical(options_.root).string()};
        CaptureStderr();
        EXPECT_EQ(serve_on(options_, noted(ends, starts)), starts ? 0 : 1);
        EXPECT_THAT(GetCapturedStderr(), HasSubstr("the log outlives the loops"));
        EXPECT_THAT(ends.order,
                    ElementsAre("intake, the folder is open", "loops, the folder is closed"));
        EXPECT_FALSE(has_name());
    }
}

// Of what the user asked for, less is given: that must be seen.
TEST_F(AssembleTest, MoreConnectionsThanDescriptorsAreAWarning) {
    options_.connections_max = 500;
    // In a process of its own: a limit that was lowered cannot be raised again.
    const auto serve_with_few = [this] {
        const rlimit few{.rlim_cur = 256, .rlim_max = 256};
        if (::setrlimit(RLIMIT_NOFILE, &few) != 0) std::_Exit(2);
        Ends ends;
        std::_Exit(serve_on(options_, noted(ends, true)));
    };
    EXPECT_EXIT(serve_with_few(), ::testing::ExitedWithCode(0),
                "fewer --max-connections than requested: raise ulimit -n");
}

TEST_F(AssembleTest, AStartThatThrowsLeavesNoNameOfASocket) {
    CaptureStderr();
    EXPECT_EQ(serve_on(options_, {.make = make_none}), 1);
    EXPECT_THAT(GetCapturedStderr(), HasSubstr("tiderace: start the server: "));
    EXPECT_FALSE(has_name());
}

}  // namespace
}  // namespace tiderace::server
