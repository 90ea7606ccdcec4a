#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "load/dialogue.h"

namespace tiderace::load {
namespace {

using namespace std::string_literals;

class Listener final : public LoadDialogue::Client {
  public:
    void say(ByteView bytes, LoadDialogue::Part) override { sent += bytes; }
    void lend(ByteView, LoadDialogue::Part) override {}
    std::size_t unsent() const override { return 0; }
    void answered(const LoadAnswer& answer, Instant) override { answers += answer.status == 200; }
    void failed(LoadError, Instant) override { ++errors; }
    void give_back(Instant) override {}
    void failed_waiting(LoadError) override { ++errors; }
    void failed_besides(LoadError) override { ++errors; }
    void found(std::string_view) override {}
    void leave() override { has_left = true; }
    void room_changed() override {}

    int answers = 0;
    int errors = 0;
    bool has_left = false;
    std::string sent;
};

// An empty SETTINGS frame, and an answer of ":status: 200" alone, HPACK's eighth static entry.
const std::string settings = "\0\0\0\x04\0\0\0\0\0"s;
std::string answer_to(char stream) {
    return "\0\0\x01\x01\x05\0\0\0"s + stream + "\x88"s;
}

class LoadH2 : public ::testing::Test {
  protected:
    std::unique_ptr<LoadDialogue> make(LoadDialogue::Rules rules) {
        rules.request = &request;
        rules.arena = &arena;
        return make_load_h2(listener, rules);
    }

    const LoadRequest request = render_request({.host = "x", .path = "/"}, {.http = LoadHttp::v2});
    Listener listener;
    std::string arena;
};

// RFC 9113, 5.1.1: a client whose numbers are used up opens a new connection. One that stayed would
// ask nothing any more, and a load on one connection would end in silence.
TEST_F(LoadH2, AConnectionWhoseStreamsAreUsedUpIsLeft) {
    const auto dialogue = make({.depth = 2, .last_stream = 5});
    for (int connection = 0; connection < 2; ++connection) {
        listener = {};
        dialogue->begin();
        EXPECT_EQ(dialogue->room(), 0U) << "before the server's settings";
        dialogue->hear(settings);
        ASSERT_EQ(dialogue->room(), 2U);
        for (int i = 0; i < 2; ++i) dialogue->ask({});
        dialogue->asked();
        dialogue->hear(answer_to(1));
        ASSERT_EQ(dialogue->room(), 1U);
        dialogue->ask({});
        dialogue->asked();
        dialogue->hear(answer_to(3));
        EXPECT_EQ(dialogue->room(), 0U);
        EXPECT_FALSE(listener.has_left) << "one is under way";
        dialogue->hear(answer_to(5));
        EXPECT_TRUE(listener.has_left);
        EXPECT_EQ(listener.answers, 3);
        EXPECT_EQ(listener.errors, 0);
    }
}

TEST_F(LoadH2, EachRequestHasItsOwnTime) {
    const auto dialogue = make({.depth = 3});
    dialogue->begin();
    dialogue->hear(settings);
    for (int i = 0; i < 2; ++i) dialogue->ask({});
    dialogue->asked();
    const Instant start{1h};
    const auto is_late = [&](Duration at) {
        return dialogue->is_late(start + at, start, start, 10s);
    };
    dialogue->hear("\0\0\x01\x01\x04\0\0\0\x01\x88"s);  // a head, and no end
    EXPECT_FALSE(is_late(0s));
    dialogue->hear("\0\0\x01\0\0\0\0\0\x01x"s);
    EXPECT_FALSE(is_late(9s));
    EXPECT_EQ(listener.errors, 0);
    // One that begins now is not late with the others.
    dialogue->ask({});
    dialogue->asked();
    listener.sent.clear();
    EXPECT_FALSE(is_late(10s)) << "others go on";
    EXPECT_EQ(listener.errors, 1);
    EXPECT_EQ(dialogue->under_way(), 2U);
    EXPECT_EQ(listener.sent, "\0\0\x04\x03\0\0\0\0\x03\0\0\0\x08"s) << "CANCEL for stream 3";
    EXPECT_EQ(dialogue->room(), 1U);
    dialogue->hear(answer_to(3));  // it was on its way
    EXPECT_FALSE(is_late(18s));
    EXPECT_FALSE(is_late(19s)) << "the third began at 10 s";
    EXPECT_EQ(listener.errors, 2);
    dialogue->hear(answer_to(5));
    EXPECT_EQ(listener.answers, 1);
    EXPECT_FALSE(is_late(30s)) << "nothing is under way";
    // A pause of the client's is no time of the server's.
    dialogue->ask({});
    dialogue->asked();
    EXPECT_FALSE(is_late(30s));
    EXPECT_FALSE(dialogue->is_late(start + 50s, start, start + 45s, 10s));
    EXPECT_TRUE(is_late(50s)) << "with the last request the connection has stalled";
    EXPECT_EQ(listener.errors, 3);
    EXPECT_FALSE(listener.has_left);
}

TEST_F(LoadH2, AServerWithoutSettingsIsLate) {
    const auto dialogue = make({.depth = 1});
    dialogue->begin();
    const Instant start{1h};
    EXPECT_FALSE(dialogue->is_late(start + 9s, start, start, 10s));
    EXPECT_EQ(listener.errors, 0);
    EXPECT_TRUE(dialogue->is_late(start + 10s, start, start, 10s));
    EXPECT_EQ(listener.errors, 1);
}

// A PING, a SETTINGS frame, an empty DATA frame and a 1xx bring an answer no nearer.
TEST_F(LoadH2, OnlyWhatBelongsToAnAnswerIsProgress) {
    const auto dialogue = make({.depth = 1});
    dialogue->begin();
    dialogue->hear(settings);
    dialogue->ask({});
    dialogue->asked();
    const std::string ping = "\0\0\x08\x06\0\0\0\0\0"s + "12345678";
    const std::string early_hints = "\0\0\x05\x01\x04\0\0\0\x01\x08\x03"s + "103";
    const std::uint64_t before = dialogue->progress();
    for (const std::string& frame : {settings, ping, early_hints}) dialogue->hear(frame);
    EXPECT_EQ(dialogue->progress(), before);
    dialogue->hear("\0\0\x01\x01\x04\0\0\0\x01\x88"s);  // the head alone
    const std::uint64_t head = dialogue->progress();
    EXPECT_GT(head, before);
    dialogue->hear("\0\0\0\0\0\0\0\0\x01"s);  // DATA without bytes
    EXPECT_EQ(dialogue->progress(), head);
    dialogue->hear("\0\0\x01\0\x01\0\0\0\x01x"s);
    EXPECT_GT(dialogue->progress(), head);
    EXPECT_EQ(listener.answers, 1);
    EXPECT_EQ(listener.errors, 0);
}

}  // namespace
}  // namespace tiderace::load
