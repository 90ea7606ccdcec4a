#include "lab/engine/noting_kernel.h"

#include <gtest/gtest.h>

#include <cerrno>
#include <deque>
#include <string>
#include <vector>

namespace tiderace::lab::engine {
namespace {

using core::Interest;

// Answers each call with the next of its outcomes.
class ScriptedKernel final : public core::SystemKernel {
  public:
    std::deque<ssize_t> outcomes;

    int accept(int, sockaddr*, socklen_t*) override { return static_cast<int>(next()); }
    int connect(int, const sockaddr*, socklen_t) override { return static_cast<int>(next()); }
    int get_option(int, int, int, void*, socklen_t*) override { return static_cast<int>(next()); }
    ssize_t receive(int, void*, std::size_t) override { return next(); }
    ssize_t send(int, const iovec*, int, bool) override { return next(); }
    ssize_t send_file(int, int, off_t*, std::size_t) override { return next(); }

  private:
    ssize_t next() {
        const ssize_t outcome = outcomes.front();
        outcomes.pop_front();
        return outcome;
    }
};

class Noting : public ::testing::Test, private CallNotes {
  protected:
    static constexpr int fd = 5;
    static constexpr Interest nothing{}, no_bytes{.readable = true}, no_room{.writable = true};

    // The note of a call with this outcome, which the caller gets unchanged.
    template <typename Call>
    Interest noted(ssize_t outcome, Call call) {
        below_.outcomes = {outcome};
        notes_.clear();
        EXPECT_EQ(static_cast<ssize_t>(call(kernel_)), outcome);
        EXPECT_EQ(notes_.size(), 1U);
        return notes_.empty() ? Interest{true, true} : notes_[0];
    }

  private:
    void note_call(int noted, Interest exhausted) override {
        EXPECT_EQ(noted, fd);
        notes_.push_back(exhausted);
    }

    ScriptedKernel below_;
    NotingKernel kernel_{below_, *this};
    std::vector<Interest> notes_;
};

TEST_F(Noting, AReceiveThatGotLessThanItHadRoomForLeftNothing) {
    char buffer[8];
    const auto receive = [&](core::Kernel& kernel) {
        return kernel.receive(fd, buffer, sizeof buffer);
    };
    EXPECT_EQ(noted(3, receive), no_bytes);
    EXPECT_EQ(noted(-EAGAIN, receive), no_bytes);
    EXPECT_EQ(noted(8, receive), nothing);
    EXPECT_EQ(noted(0, receive), nothing) << "the end stays readable";
    EXPECT_EQ(noted(-EINTR, receive), nothing);
    EXPECT_EQ(noted(-ECONNRESET, receive), nothing);
}

TEST_F(Noting, ASendThatTookLessThanItWasOfferedLeftNoRoom) {
    char bytes[] = "hello";
    const iovec pieces[] = {{bytes, 2}, {bytes + 2, 3}};
    const auto send = [&](core::Kernel& kernel) { return kernel.send(fd, pieces, 2, false); };
    EXPECT_EQ(noted(5, send), nothing);
    EXPECT_EQ(noted(4, send), no_room);
    for (const int error : {EAGAIN, ENOBUFS, ENOMEM}) EXPECT_EQ(noted(-error, send), no_room);
    for (const int error : {EINTR, EPIPE}) EXPECT_EQ(noted(-error, send), nothing);
}

TEST_F(Noting, OfAFileAShortCountMayBeTheFilesOwn) {
    off_t offset = 0;
    const auto send_file = [&](core::Kernel& kernel) {
        return kernel.send_file(fd, 6, &offset, 10);
    };
    EXPECT_EQ(noted(10, send_file), nothing);
    EXPECT_EQ(noted(4, send_file), nothing);
    EXPECT_EQ(noted(-EAGAIN, send_file), no_room);
}

TEST_F(Noting, AListenerIsExhaustedOnlyByEagain) {
    const auto accept = [](core::Kernel& kernel) { return kernel.accept(fd, nullptr, nullptr); };
    EXPECT_EQ(noted(9, accept), nothing);
    EXPECT_EQ(noted(-EAGAIN, accept), no_bytes);
    EXPECT_EQ(noted(-EMFILE, accept), nothing);
}

TEST_F(Noting, AConnectAndItsOutcomeAreCallsThatExhaustNothing) {
    const auto connect = [](core::Kernel& kernel) { return kernel.connect(fd, nullptr, 0); };
    const auto outcome = [](core::Kernel& kernel) {
        return kernel.get_option(fd, 0, 0, nullptr, nullptr);
    };
    EXPECT_EQ(noted(-EINPROGRESS, connect), nothing);
    EXPECT_EQ(noted(0, outcome), nothing);
}

}  // namespace
}  // namespace tiderace::lab::engine
