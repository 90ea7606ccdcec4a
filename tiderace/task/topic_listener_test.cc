#include "tiderace/task/topic_listener.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>

#include "tiderace/task/runner_fixture.h"

namespace tiderace::task {
namespace {

class TopicQueueTest : public TaskTest {
  protected:
    Topics topics{world.loop(), std::make_shared<TopicHub>(), {.topics_max = 1}};
};

TEST_F(TopicQueueTest, GivesWhatWasPublishedSinceItJoined) {
    run([](Topics& t) -> Task<> {
        TopicQueue first(t, "t");  // or the message before would not be kept
        t.publish("t", "before");
        TopicQueue queue(t, "t");
        t.publish("t", "text");
        t.publish("t", std::string_view("\xff"), false);
        auto message = co_await queue.next();
        EXPECT_EQ(message->payload, "text");
        EXPECT_TRUE(message->is_text);
        message = co_await queue.next();
        EXPECT_FALSE(message->is_text);
        message = co_await first.next();
        EXPECT_EQ(message->payload, "before");
    }(topics));
    EXPECT_EQ(topics.size(), 0U);
}

TEST_F(TopicQueueTest, EndsAfterWhatCameInTimeWhereItsTaskIsTooSlow) {
    run([](Topics& t) -> Task<> {
        TopicQueue queue(t, "t", 1'000);
        const std::string half(400, 'x');
        for (int i = 0; i < 3; ++i) t.publish("t", half);
        co_await sleep(1ms);
        EXPECT_EQ(t.members("t"), 0U) << "at once, and not when its task comes back";
        for (int i = 0; i < 2; ++i) {
            const auto message = co_await queue.next();
            EXPECT_EQ(message->payload, half);
        }
        EXPECT_EQ(co_await queue.next(), nullptr);
    }(topics));
}

TEST_F(TopicQueueTest, DoesNotEndWhileItsTaskKeepsUp) {
    run([](Topics& t) -> Task<> {
        TopicQueue queue(t, "t", 1'000);
        for (int i = 0; i < 100; ++i) {
            t.publish("t", std::string(400, 'x'));
            EXPECT_NE(co_await queue.next(), nullptr) << i;
        }
    }(topics));
}

TEST_F(TopicQueueTest, EndsAtOnceWhereALimitRefusesItsTopic) {
    run([](Topics& t) -> Task<> {
        TopicQueue first(t, "t");
        TopicQueue second(t, "another");
        EXPECT_EQ(co_await second.next(), nullptr);
    }(topics));
}

}  // namespace
}  // namespace tiderace::task
