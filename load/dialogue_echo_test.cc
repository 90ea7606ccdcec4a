#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "load/dialogue.h"

namespace tiderace::load {
namespace {

using ::testing::ElementsAre;

// The bytes that one connection sent, and the calls that it received.
struct EchoListener final : LoadDialogue::Client {
    void say(ByteView bytes, LoadDialogue::Part) override { said += bytes; }
    void lend(ByteView bytes, LoadDialogue::Part) override { said += bytes; }
    std::size_t unsent() const override { return 0; }
    void answered(const LoadAnswer& answer, Instant) override {
        told.push_back("answer of " + std::to_string(answer.length));
    }
    void failed(LoadError error, Instant) override { told.emplace_back(to_string(error)); }
    void give_back(Instant) override { told.emplace_back("given back"); }
    void failed_waiting(LoadError error) override { failed_besides(error); }
    void failed_besides(LoadError error) override {
        told.push_back("besides: " + std::string(to_string(error)));
    }
    void found(std::string_view) override {}
    void leave() override { has_left = true; }
    void room_changed() override {}

    std::string said;
    std::vector<std::string> told;
    bool has_left = false;
};

struct LoadEchoTest : ::testing::Test {
    LoadEchoTest() {
        request.body = "abc";
        request.bytes = 3;
        request.batch = "abcabcabc";
        start({.request = &request, .depth = 3});
    }
    void start(const LoadDialogue::Rules& rules) {
        dialogue = make_load_echo(listener, rules);
        dialogue->begin();
    }
    void ask(int count) {
        for (int i = 0; i < count; ++i) dialogue->ask({});
        dialogue->asked();
    }

    LoadRequest request;
    EchoListener listener;
    std::unique_ptr<LoadDialogue> dialogue;
};

TEST_F(LoadEchoTest, EachMessageComesBackHoweverItIsCut) {
    for (std::size_t cut = 0; cut <= 6; ++cut) {
        listener = {};
        dialogue->begin();
        EXPECT_EQ(dialogue->room(), 3U);
        ask(2);
        EXPECT_EQ(listener.said, "abcabc");
        EXPECT_EQ(dialogue->under_way(), 2U);
        const std::string back = "abcabc";
        EXPECT_EQ(dialogue->hear(ByteView(back).substr(0, cut)), cut);
        EXPECT_EQ(dialogue->hear(ByteView(back).substr(cut)), back.size() - cut);
        EXPECT_THAT(listener.told, ElementsAre("answer of 3", "answer of 3")) << cut;
        EXPECT_FALSE(listener.has_left);
        EXPECT_EQ(dialogue->room(), 3U);
    }
}

TEST_F(LoadEchoTest, AWrongByteEndsTheConnectionAndFailsAllOfIt) {
    ask(3);
    EXPECT_EQ(dialogue->hear("abcaXc"), 6U);
    EXPECT_THAT(listener.told, ElementsAre("answer of 3", "wrong hash", "wrong hash"));
    EXPECT_TRUE(listener.has_left);
    EXPECT_EQ(dialogue->room(), 0U);
}

TEST_F(LoadEchoTest, MoreThanWasSentIsSeen) {
    ask(1);
    dialogue->hear("abcabc");
    EXPECT_THAT(listener.told, ElementsAre("answer of 3", "besides: unasked bytes"));
    EXPECT_TRUE(listener.has_left);
}

TEST_F(LoadEchoTest, AnEndInAMessageCutsItShort) {
    ask(1);
    dialogue->hear("ab");
    dialogue->ended(false);
    EXPECT_THAT(listener.told, ElementsAre("cut short"));
    dialogue->begin();
    ask(1);
    dialogue->ended(false);
    EXPECT_EQ(listener.told.back(), "closed early");
    dialogue->begin();
    ask(2);
    EXPECT_EQ(dialogue->drop_all(), 2U);
    EXPECT_EQ(dialogue->under_way(), 0U);
}

TEST_F(LoadEchoTest, AConnectionForEachMessageIsLeftAfterOne) {
    start({.request = &request, .depth = 1, .close = true});
    ask(1);
    dialogue->hear("abc");
    EXPECT_TRUE(listener.has_left);
    EXPECT_EQ(dialogue->room(), 0U);
}

}  // namespace
}  // namespace tiderace::load
