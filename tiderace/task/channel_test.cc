#include "tiderace/task/channel.h"

#include <gtest/gtest.h>

#include <memory>
#include <vector>

#include "tiderace/task/runner_fixture.h"
#include "tiderace/task/within.h"

namespace tiderace::task {
namespace {

class ChannelTest : public TaskTest {};

Task<> send_all(Channel<int>& channel, int count) {
    for (int i = 0; i < count; ++i) EXPECT_TRUE(co_await channel.send(i));
    channel.close();
}
Task<> receive_all(Channel<int>& channel, std::vector<int>& out) {
    while (auto value = co_await channel.receive()) out.push_back(*value);
}

TEST_F(ChannelTest, ValuesArriveInOrderWhateverItHolds) {
    for (std::size_t capacity : {1u, 2u, 7u, 1'000u}) {
        std::vector<int> got;
        run([](std::size_t n, std::vector<int>& out) -> Task<> {
            Channel<int> channel(n);
            Scope scope;
            scope.spawn(receive_all(channel, out));
            scope.spawn(send_all(channel, 500));
            co_await scope.join();
        }(capacity, got));
        ASSERT_EQ(got.size(), 500u) << capacity;
        for (int i = 0; i < 500; ++i) ASSERT_EQ(got[static_cast<std::size_t>(i)], i);
    }
}

TEST_F(ChannelTest, ASenderWaitsForRoom) {
    run([]() -> Task<> {
        Channel<int> channel(2);
        EXPECT_TRUE(co_await channel.send(1));
        EXPECT_TRUE(co_await channel.send(2));
        EXPECT_TRUE(channel.full());
        EXPECT_FALSE(channel.try_send(3));
        EXPECT_FALSE(co_await within(1ms, channel.send(3)));  // the value is dropped with the send
        EXPECT_EQ(co_await channel.receive(), 1);
        EXPECT_EQ(co_await channel.receive(), 2);
        EXPECT_EQ(channel.try_receive(), std::nullopt);
    }());
}

TEST_F(ChannelTest, ClosedItGivesWhatItHoldsAndTakesNoMore) {
    run([]() -> Task<> {
        Channel<std::unique_ptr<int>> channel(4);
        EXPECT_TRUE(co_await channel.send(std::make_unique<int>(1)));
        channel.close();
        auto kept = std::make_unique<int>(2);
        EXPECT_FALSE(channel.try_send(kept));
        EXPECT_NE(kept, nullptr);
        EXPECT_FALSE(co_await channel.send(std::move(kept)));
        EXPECT_EQ(**co_await channel.receive(), 1);
        EXPECT_EQ(co_await channel.receive(), std::nullopt);
    }());
}

TEST_F(ChannelTest, ClosingWakesAllWaiters) {
    run([]() -> Task<> {
        Channel<int> channel(1);
        Scope scope;
        scope.spawn([](Channel<int>& c) -> Task<> {
            EXPECT_EQ(co_await c.receive(), std::nullopt);
        }(channel));
        channel.close();
        co_await scope.join();
    }());
}

TEST_F(ChannelTest, AValueHandedToAReceiverThatIsCancelledGoesToTheNext) {
    std::vector<int> got;
    Channel<int> channel(1);
    Kept first;
    Kept second;
    Kept sender;
    first.start(runner, receive_all(channel, got));
    sender.start(runner, [](Channel<int>& c, Root& receiver) -> Task<> {
        co_await sleep(1ms);
        EXPECT_TRUE(c.try_send(7));
        receiver.cancel();
    }(channel, first));
    world.advance(5ms);
    EXPECT_FALSE(first.alive());
    EXPECT_EQ(channel.size(), 1u);
    second.start(runner, receive_all(channel, got));
    channel.close();
    world.advance(1ms);
    EXPECT_EQ(got, std::vector<int>{7});
}

}  // namespace
}  // namespace tiderace::task
