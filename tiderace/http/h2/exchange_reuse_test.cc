// An exchange that was reset keeps nothing for its holder, and one that is used again is as new.
#include "tiderace/testing/h2_fixture.h"

namespace tiderace::http {
namespace {

using testing::H2Client;
using testing::H2Stage;

class H2Reuse : public testing::H2Test {
  protected:
    ~H2Reuse() override { kept_ = {}; }

    H2Exchange& exchange() { return static_cast<H2Exchange&>(*kept_); }
    // The test is the only one that holds it from here on.
    void lose(H2Client& client, std::uint32_t stream) {
        client.reset(stream);
        ASSERT_TRUE(run_until([&] { return !exchange().attached(); }));
        world_->settle();
    }
    void expect_as_new() {
        ASSERT_TRUE(kept_.only_owner());
        exchange().recycle();
        const auto made = core::make_ref<H2Exchange>(stage_->service());
        EXPECT_EQ(seen(exchange()), seen(*made));
    }

  private:
    // All that is visible of one without a connection.
    static std::string seen(const H2Exchange& it) {
        const AccessRecord record = it.record();
        const Request& request = it.request();
        std::string text;
        const auto add = [&text](std::string_view name, auto value) {
            text += std::string(name) + ' ' + std::to_string(value) + '\n';
        };
        add("stream", it.stream());
        add("attached", it.attached());
        add("answered", it.responded());
        add("abandoned", it.abandoned());
        add("complete", it.answer_complete());
        add("output", it.has_output());
        add("waits", it.waits_to_be_sent());
        add("source waits", it.source_waits());
        add("answer bytes", it.answer_bytes());
        add("refused", it.was_refused());
        add("may drop", it.may_drop_rest());
        add("arrived", it.body_arrived());
        add("flows", it.body_flows());
        add("paused", it.body_paused());
        add("body bytes", it.body_bytes());
        add("held", it.held_bytes());
        add("pinned", it.pinned_bytes());
        add("status", record.status);
        add("took", record.duration.count());
        add("head", request.head != nullptr);
        add("peer", request.peer != nullptr);
        add("connection", request.connection.generation);
        add("query", request.has_query);
        return text + std::string(request.path) + std::string(request.query) +
               std::string(request.authority) + std::string(request.protocol);
    }
};

INSTANTIATE_TEST_SUITE_P(Worlds, H2Reuse, ::testing::Values("fake"));

TEST_P(H2Reuse, AResetStreamKeepsNothingOfItsBody) {
    H2Client& client = connect();
    const auto stream = client.request("POST", "/kept", {}, false);
    client.data(stream, std::string(10'000, 'x'), false);
    ASSERT_TRUE(run_until([&] { return kept_ && exchange().held_bytes() == 10'000; }));
    lose(client, stream);
    EXPECT_EQ(exchange().held_bytes(), 0U);
}

TEST_P(H2Reuse, AResetStreamKeepsNothingOfItsAnswer) {
    H2Client& client = connect({{wire::H2SettingId::initial_window_size, 0}});
    const auto stream = client.get("/kept");
    ASSERT_TRUE(run_until([&] { return static_cast<bool>(kept_); }));
    Response response;
    response.set_body(large_);
    kept_->respond(response);
    ASSERT_EQ(exchange().out().bytes(), large_.size());
    lose(client, stream);
    EXPECT_EQ(exchange().out().bytes(), 0U);
}

TEST_P(H2Reuse, OneWhoseAnswerIsCompleteIsOffItsConnection) {
    H2Client& client = connect();
    const auto stream = client.get("/kept");
    ASSERT_TRUE(run_until([&] { return static_cast<bool>(kept_); }));
    kept_->respond_status(204);
    ASSERT_TRUE(ended(stream));
    EXPECT_FALSE(exchange().attached());
}

// Its limit makes the announced length show: a body of so much may not be dropped.
TEST_P(H2Reuse, OneThatHadBegunItsAnswerIsAsNew) {
    H2Options options = H2Stage::plain();
    options.body_bytes_max = 5;
    start(options);
    struct Part final : BodySource {
        State pull(core::BlockPool& blocks, core::SendQueue& out, std::size_t) override {
            out.append(blocks, "part");
            return State::wait;
        }
    };
    stage_->on("/part", [this](Exchange& exchange) {
        kept_ = exchange.defer();
        Response response;
        response.set_body(std::make_unique<Part>(), 10);
        exchange.respond(response);
    });
    H2Client& client = connect();
    world_->advance(5s);
    const auto stream = client.request("POST", "/part?a", {{"content-length", "7"}}, false);
    client.data(stream, "12345", false);
    ASSERT_TRUE(run_until([&] { return client.answer(stream).body == "part"; }));
    lose(client, stream);
    exchange().set_body_reading(false);
    exchange().out().append(world_->loop().blocks(), "unsent");
    exchange().refuse(413, "too large");
    expect_as_new();
}

TEST_P(H2Reuse, OneThatWasNotAnsweredIsAsNew) {
    H2Client& client = connect();
    const auto stream = client.request("POST", "/kept", {}, false);
    client.data(stream, "12345", true);
    ASSERT_TRUE(run_until([&] { return kept_ && exchange().body_arrived(); }));
    lose(client, stream);
    EXPECT_TRUE(exchange().take_body("more", false));
    exchange().end_output();
    expect_as_new();
}

}  // namespace
}  // namespace tiderace::http
