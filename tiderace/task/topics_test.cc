// Topics without HTTP. With sockets, and publishers that wait: http/websocket/topics_test.cc.
#include "tiderace/task/topics.h"

#include <gtest/gtest.h>

#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "tiderace/task/runner_fixture.h"
#include "tiderace/task/topic_listener.h"

namespace tiderace::task {
namespace {

class Heard final : public TopicListener {
  public:
    std::string all;
    bool leaves = false;
    bool throws = false;
    Topics* answers_to = nullptr;
    int failures = 0;

  private:
    void on_messages(TopicBatch& batch) override {
        if (throws) throw std::runtime_error("a follower");
        for (const SharedMessage& message : batch.messages) all += message->payload + ' ';
        if (answers_to != nullptr && all.size() < 10) answers_to->publish(topic(), "answer");
        if (leaves) leave();
    }
    void on_failed() override { ++failures; }
};

class TopicsTest : public TaskTest {
  protected:
    std::unique_ptr<Topics> make(tiderace::testing::FakeWorld& on, TopicLimits limits = {}) {
        return std::make_unique<Topics>(on.loop(), hub, limits);
    }
    const std::shared_ptr<TopicHub> hub = std::make_shared<TopicHub>();
};

TEST_F(TopicsTest, ReachTheListenersOfEachLoopInOrder) {
    tiderace::testing::FakeWorld there;
    const auto near = make(world);
    const auto far = make(there);
    Heard here, other, away;
    EXPECT_TRUE(here.join(*near, "news"));
    EXPECT_TRUE(other.join(*near, "sport"));
    EXPECT_TRUE(away.join(*far, "news"));
    EXPECT_EQ(here.topic(), "news");
    for (const char* text : {"1", "2", "3"}) near->publish("news", text);
    EXPECT_EQ(here.all, "") << "at the turn's end";
    world.settle();
    there.settle();
    EXPECT_EQ(here.all, "1 2 3 ");
    EXPECT_EQ(away.all, "1 2 3 ");
    EXPECT_EQ(other.all, "");
    here.leave();
    EXPECT_EQ(here.topic(), "");
    EXPECT_EQ(near->size(), 1U) << "an empty topic is forgotten";
}

TEST_F(TopicsTest, OneListenerThatThrowsOrLeavesDoesNotHarmTheOthers) {
    const auto topics = make(world);
    Heard throws, leaves, stays;
    throws.throws = leaves.leaves = true;
    for (Heard* one : {&throws, &leaves, &stays}) EXPECT_TRUE(one->join(*topics, "t"));
    topics->publish("t", "a");
    world.settle();
    topics->publish("t", "b");
    world.settle();
    EXPECT_EQ(throws.failures, 2);
    EXPECT_EQ(leaves.all, "a ");
    EXPECT_EQ(stays.all, "a b ");
    EXPECT_EQ(topics->members("t"), 2U);
}

TEST_F(TopicsTest, WhatAListenerPublishesToItsOwnTopicComesNext) {
    const auto topics = make(world);
    Heard answers, hears;
    answers.answers_to = topics.get();
    for (Heard* one : {&answers, &hears}) EXPECT_TRUE(one->join(*topics, "t"));
    topics->publish("t", "question");
    world.settle();
    EXPECT_EQ(answers.all, "question answer ");
    EXPECT_EQ(hears.all, "question answer ");
}

// The last of them, in the middle of its topic's delivery.
TEST_F(TopicsTest, ATopicWhoseListenersAllLeaveIsForgotten) {
    const auto topics = make(world);
    Heard one, two;
    one.leaves = two.leaves = true;
    for (Heard* each : {&one, &two}) EXPECT_TRUE(each->join(*topics, "t"));
    topics->publish("t", "last");
    world.settle();
    EXPECT_EQ(one.all + two.all, "last last ");
    EXPECT_EQ(topics->size(), 0U);
}

TEST_F(TopicsTest, RefuseATopicTooManyAndANameTooLong) {
    const auto topics = make(world, {.topics_max = 1, .name_bytes_max = 4});
    Heard first, second;
    EXPECT_FALSE(first.join(*topics, "longer"));
    EXPECT_TRUE(first.join(*topics, "four"));
    EXPECT_FALSE(second.join(*topics, "more"));
}

}  // namespace
}  // namespace tiderace::task
