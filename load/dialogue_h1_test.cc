#include <gtest/gtest.h>

#include <map>
#include <string>

#include "load/dialogue.h"

namespace tiderace::load {
namespace {

// Counts what a dialogue reports about a server.
class Listener final : public LoadDialogue::Client {
  public:
    void say(ByteView, LoadDialogue::Part) override {}
    void lend(ByteView, LoadDialogue::Part) override {}
    std::size_t unsent() const override { return 0; }
    void answered(const LoadAnswer& answer, Instant) override { ++answers[answer.status]; }
    void failed(LoadError error, Instant) override { ++errors[error]; }
    void give_back(Instant) override {}
    void failed_waiting(LoadError error) override { ++errors[error]; }
    void failed_besides(LoadError error) override { ++errors[error]; }
    void found(std::string_view) override {}
    void leave() override { has_left = true; }
    void room_changed() override {}

    std::map<int, int> answers;
    std::map<LoadError, int> errors;
    bool has_left = false;
};

// The calls to a client with `asked` requests, when the bytes come in two pieces.
Listener hear(std::string_view said, std::size_t cut, int asked) {
    const LoadRequest request{.head = "GET / HTTP/1.1\r\n\r\n"};
    Listener listener;
    const auto dialogue = make_load_h1(listener, {.request = &request, .depth = 4});
    dialogue->begin();
    for (int i = 0; i < asked; ++i) dialogue->ask({});
    dialogue->asked();
    const std::size_t used = dialogue->hear(said.substr(0, cut));
    if (used < said.size()) dialogue->hear(said.substr(used));
    return listener;
}

TEST(LoadH1, AnEarly503CountsAsTurnedAway) {
    for (const std::string_view said :
         {"HTTP/1.1 503 Full\r\nConnection: close\r\nContent-Length: 5\r\n\r\nfull\n",
          "HTTP/1.1 503 Full\r\nContent-Length: 0\r\n\r\n"}) {
        for (std::size_t cut = 0; cut <= said.size(); ++cut) {
            const Listener listener = hear(said, cut, 0);
            EXPECT_EQ(listener.errors, (std::map<LoadError, int>{{LoadError::turned_away, 1}}))
                << cut;
            EXPECT_TRUE(listener.answers.empty()) << cut;
            EXPECT_TRUE(listener.has_left) << cut;
        }
        EXPECT_EQ(hear(said, 0, 1).answers, (std::map<int, int>{{503, 1}}));
    }
}

TEST(LoadH1, AnythingElseUnaskedIsAnError) {
    const std::string_view good = "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello";
    const std::string both = std::string(good) + "HTTP/1.1 503 Full\r\nContent-Length: 0\r\n\r\n";
    for (std::size_t cut = 0; cut <= good.size(); ++cut) {
        EXPECT_EQ(hear(good, cut, 0).errors[LoadError::unasked], 1) << cut;
        Listener after = hear(both, cut, 1);
        EXPECT_EQ(after.errors[LoadError::unasked], 1) << cut;
        EXPECT_EQ(after.answers[200], 1) << cut;
    }
}

}  // namespace
}  // namespace tiderace::load
