#include "tiderace/tcp/security.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "tiderace/task/runner_fixture.h"
#include "tiderace/tcp/dial.h"

namespace tiderace::tcp {
namespace {

// Leaves bytes as they are and records the hosts that were requested.
class NotedSecurity final : public ClientSecurity, private ClientLayer {
  public:
    Result<std::shared_ptr<ClientLayer>> layer(task::Runner&) const override {
        if (broken) return fail(Error(0, "read", "ca.pem", "it is no certificate"));
        return std::shared_ptr<ClientLayer>(self_, static_cast<ClientLayer*>(self_.get()));
    }

    bool broken = false;
    std::vector<std::string> hosts;

  private:
    std::unique_ptr<net::Transport> wrap(std::unique_ptr<net::Transport> below,
                                         const std::string& host) override {
        hosts.push_back(host);
        if (host == "127.0.0.1") return nullptr;
        return below;
    }

    std::shared_ptr<NotedSecurity> self_{this, [](NotedSecurity*) {}};
};

class SecurityTest : public task::TaskTest {
  protected:
    Result<Dialed> dial_now(const std::string& host) {
        Result<Dialed> made = fail(Error(0, "", ""));
        run([](std::string to, const ClientSecurity& security,
               Result<Dialed>& made) -> task::Task<> {
            made = co_await dial(to, {.security = &security});
        }(host + ":" + std::to_string(world.listening_at().port()), security_, made));
        return made;
    }

    NotedSecurity security_;
};

TEST_F(SecurityTest, WrapsTheConnectionForTheRequestedHost) {
    const auto listener = world.listen();
    const auto made = dial_now("localhost");
    ASSERT_TRUE(made.has_value()) << made.error().message();
    EXPECT_NE(made->layer, nullptr);
    EXPECT_EQ(security_.hosts, std::vector<std::string>{"localhost"});
}

TEST_F(SecurityTest, WhatCannotBeMadeIsAnErrorAndClosesTheConnection) {
    const auto listener = world.listen();
    const auto before = world.open_descriptors();
    EXPECT_EQ(dial_now("127.0.0.1").error().message(),
              "connect to 127.0.0.1: no certificate can be for this name");
    security_.broken = true;
    EXPECT_EQ(dial_now("localhost").error().message(), "read ca.pem: it is no certificate");
    world.settle();
    EXPECT_EQ(world.open_descriptors(), before);
}

}  // namespace
}  // namespace tiderace::tcp
