#include "server/echo.h"

#include <gtest/gtest.h>

#include <string>

#include "tiderace/testing/world.h"

namespace tiderace::server {
namespace {

class EchoTest : public ::testing::TestWithParam<std::string> {
  protected:
    EchoTest() { server_.listen(world_->listen()); }

    std::unique_ptr<testing::World> world_ = testing::make_world(GetParam());
    Echo echo_;
    net::TcpServer server_{world_->loop(), echo_, {.connections_max = 2}};
};

INSTANTIATE_TEST_SUITE_P(Worlds, EchoTest, ::testing::ValuesIn(testing::main_world_names()),
                         [](const auto& world) { return testing::label_of_world(world.param); });

TEST_P(EchoTest, EachConnectionGetsItsOwnBytesBack) {
    const auto one = world_->connect();
    const auto other = world_->connect();
    const std::string large(300'000, 'x');
    one->say("GET /");
    other->say(large);
    EXPECT_TRUE(world_->run_until([&] { return other->heard().size() == large.size(); }));
    EXPECT_TRUE(world_->run_until([&] { return one->heard() == "GET /"; }));
    EXPECT_EQ(other->heard(), large);
    one->finish();
    EXPECT_TRUE(world_->run_until([&] { return one->over(); }));
}

}  // namespace
}  // namespace tiderace::server
