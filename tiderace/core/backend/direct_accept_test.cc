#include "tiderace/core/backend/direct_accept.h"

#include <gtest/gtest.h>

#include <deque>
#include <vector>

namespace tiderace::core {
namespace {

// Says what the script says, then that none is left.
class ScriptedKernel final : public SystemKernel {
  public:
    explicit ScriptedKernel(std::deque<int> script) : script_(std::move(script)) {}

    int accept(int, sockaddr* peer, socklen_t* bytes) override {
        peer->sa_family = AF_UNSPEC;
        *bytes = sizeof peer->sa_family;
        if (script_.empty()) return -EAGAIN;
        const int said = script_.front();
        script_.pop_front();
        return said;
    }
    std::size_t left() const { return script_.size(); }

  private:
    std::deque<int> script_;
};

struct Listener final : IoObserver {
    void on_accepted(int fd, const Address&) override { accepted.push_back(fd); }
    void on_accept_failed(int error) override { failed.push_back(error); }

    std::vector<int> accepted;
    std::vector<int> failed;
};

constexpr auto goes_on = [] { return true; };

TEST(DirectAccept, TakesAllThatWait) {
    ScriptedKernel kernel({10, 11, 12});
    Listener listener;
    EXPECT_TRUE(accept_directly(kernel, 3, listener, 64, goes_on));
    EXPECT_EQ(listener.accepted, (std::vector{10, 11, 12}));
}

TEST(DirectAccept, LeavesWhatIsBeyondATurnsBudget) {
    ScriptedKernel kernel({10, 11, 12});
    Listener listener;
    EXPECT_FALSE(accept_directly(kernel, 3, listener, 2, goes_on));
    EXPECT_EQ(listener.accepted, (std::vector{10, 11}));
    EXPECT_EQ(kernel.left(), 1u);
}

TEST(DirectAccept, EndsWhereTheObserverStopsIt) {
    ScriptedKernel kernel({10, 11, 12});
    Listener listener;
    EXPECT_FALSE(
        accept_directly(kernel, 3, listener, 64, [&] { return listener.accepted.size() < 2; }));
    EXPECT_EQ(listener.accepted, (std::vector{10, 11}));
}

TEST(DirectAccept, PassesOverTheFaultsOfSingleConnections) {
    ScriptedKernel kernel({-ECONNABORTED, 10, -EINTR, -EHOSTUNREACH, 11});
    Listener listener;
    EXPECT_TRUE(accept_directly(kernel, 3, listener, 64, goes_on));
    EXPECT_EQ(listener.accepted, (std::vector{10, 11}));
    EXPECT_TRUE(listener.failed.empty());
}

TEST(DirectAccept, TellsOnceWhatTheMachineLacks) {
    for (const int error : {-EMFILE, -ENFILE, -ENOBUFS, -ENOMEM}) {
        ScriptedKernel kernel({10, error, error, 11});
        Listener listener;
        EXPECT_FALSE(accept_directly(kernel, 3, listener, 64, goes_on));
        EXPECT_EQ(listener.accepted, std::vector{10});
        EXPECT_EQ(listener.failed, std::vector{error});
    }
}

}  // namespace
}  // namespace tiderace::core
