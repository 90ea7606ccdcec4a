#include "tiderace/task/lookup.h"

#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <string>
#include <thread>

#include "tiderace/task/runner_fixture.h"

namespace tiderace::task {
namespace {

using Addresses = std::vector<core::Address>;

class LookupTest : public TaskTest {
  protected:
    std::string answer_for(const std::string& host) {
        std::string text;
        Kept root;
        root.start(runner, [](std::string name, std::string& out) -> Task<> {
            Lookup lookup(name, Instant::max());
            const auto found = co_await lookup;
            out = found ? found->front().to_string() : found.error().message();
        }(host, text));
        turn_until([&] { return root.ended; });
        return text;
    }
};

TEST_F(LookupTest, FindsAddressesAndSaysWhyItDoesNot) {
    set_look_up(runner, [](const std::string& host) -> Result<Addresses> {
        if (host != "example.org") return fail(Error(0, "look up", host, "there is no such host"));
        return Addresses{core::Address::parse("192.0.2.7:1").value().with_port(0)};
    });
    EXPECT_EQ(answer_for("example.org"), "192.0.2.7:0");
    EXPECT_EQ(answer_for("nowhere.example"), "look up nowhere.example: there is no such host");
}

TEST_F(LookupTest, ACancelledOneIsWithdrawn) {
    struct Signals {
        std::atomic<bool> asked = false;
        std::atomic<bool> go = false;
    };
    const auto signals = std::make_shared<Signals>();  // the thread may outlive this function
    set_look_up(runner, [signals](const std::string&) -> Result<Addresses> {
        signals->asked = true;
        while (!signals->go) std::this_thread::yield();
        return Addresses{};
    });
    {
        Kept root;
        root.start(runner, []() -> Task<> {
            Lookup lookup("example.org", Instant::max());
            (void)co_await lookup;
            ADD_FAILURE() << "it was cancelled";
        }());
        turn_until([&] { return signals->asked.load(); });
        root.cancel();
    }
    signals->go = true;
    world.settle();
}

}  // namespace
}  // namespace tiderace::task
