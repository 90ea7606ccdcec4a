// The length in an answer's head, the frames of its body, and the windows that they use. On every
// engine.
#include "tiderace/testing/h2_fixture.h"
#include "tiderace/testing/pipe_transport.h"
#include "tiderace/testing/transport_peer.h"

namespace tiderace::http {
namespace {

using testing::H2Client;
using testing::H2Stage;
using wire::H2SettingId;

class H2Answers : public testing::H2Test {
  protected:
    void answer_with(std::string path, std::string body) {
        stage_->on(std::move(path), [body = std::move(body)](Exchange& exchange) {
            Response response;
            response.set_body(body);  // a copy, which goes with the response
            exchange.respond(response);
        });
    }
};

INSTANTIATE_TEST_SUITE_P(Worlds, H2Answers, ::testing::ValuesIn(testing::main_world_names()),
                         [](const auto& world) { return testing::label_of_world(world.param); });

// --- heads -----------------------------------------------------------------------------------

// RFC 9110, 8.6: no content-length with 204.
TEST_P(H2Answers, OneThatNeverHasABodyHasNoLength) {
    H2Client& client = connect();
    const auto stream = client.get("/empty");
    ASSERT_TRUE(ended(stream));
    EXPECT_EQ(client.answer(stream).status, 204);
    EXPECT_EQ(client.answer(stream).header("content-length"), "");
}

TEST_P(H2Answers, OneWhoseHeadCannotBeWrittenGivesUpItsSource) {
    struct Gone final : BodySource {
        explicit Gone(bool& gone) : gone_(&gone) {}
        ~Gone() override { *gone_ = true; }
        State pull(core::BlockPool&, core::SendQueue&, std::size_t) override { return State::end; }
        bool* gone_;
    };
    bool gone_in_time = false;
    stage_->on("/bad", [&](Exchange& exchange) {
        bool gone = false;
        Response response;
        response.add("X-Bad", "one\r\ntwo");
        response.set_body(std::make_unique<Gone>(gone));
        exchange.respond(response);
        gone_in_time = gone;
    });
    H2Client& client = connect();
    const auto stream = client.get("/bad");
    ASSERT_TRUE(ended(stream));
    EXPECT_EQ(client.answer(stream).status, 500);
    EXPECT_TRUE(gone_in_time);
}

// --- requests that have no path or no fields of use ------------------------------------------

TEST_P(H2Answers, ARequestForTheServerItselfHasAStarForAPath) {
    std::string raw_path;
    stage_->on("*", [&](Exchange& exchange) {
        raw_path = exchange.request().raw_path;
        exchange.respond_status(204);
    });
    H2Client& client = connect();
    const auto stream = client.request("OPTIONS", "*", {}, true);
    ASSERT_TRUE(ended(stream));
    EXPECT_EQ(client.answer(stream).status, 204);
    EXPECT_EQ(raw_path, "*");
}

TEST_P(H2Answers, ARefusedHeadShowsNoFieldsOfItsOwn) {
    struct Fields final : AccessLog {
        void write(const AccessRecord& record) override {
            count = record.request->head->fields().size();
            path = record.request->path;
        }
        std::size_t count = 99;
        std::string path = "none";
    };
    static Fields log;  // outlives the connection
    stage_->stage().site().set_log(&log);
    H2Client& client = connect();
    const auto stream =
        client.get("/hello", {{"x-small", "1"}, {"x-large", std::string(40'000, 'x')}});
    ASSERT_TRUE(ended(stream));
    EXPECT_EQ(client.answer(stream).status, 431);
    EXPECT_EQ(log.count, 0U);
    EXPECT_EQ(log.path, "");
}

// A transport that is encrypted, as far as those above it can see.
class Encrypted final : public net::Transport {
  public:
    Encrypted(std::unique_ptr<Transport> below, const net::TransportSecurity& security)
        : below_(std::move(below)), security_(&security) {}
    void open(Observer& observer) override { below_->open(observer); }
    void set_receiving(bool on) override { below_->set_receiving(on); }
    core::Sent send(core::SendQueue& queue) override { return below_->send(queue); }
    void finish() override { below_->finish(); }
    void close(core::SendQueue&& unsent) override { below_->close(std::move(unsent)); }
    void set_reset_on_close() override { below_->set_reset_on_close(); }
    const net::TransportSecurity* security() const override { return security_; }

  private:
    std::unique_ptr<Transport> below_;
    const net::TransportSecurity* security_;
};

TEST_P(H2Answers, ARequestOverTlsKnowsTheSecurityOfItsConnection) {
    const net::TransportSecurity security{.protocol = "h2", .version = "TLSv1.3", .cipher = ""};
    const net::TransportSecurity* of_request = nullptr;
    bool secure = false;
    stage_->on("/secure", [&](Exchange& exchange) {
        of_request = exchange.request().security;
        secure = exchange.request().secure;
        exchange.respond_status(204);
    });
    net::TcpServer server(world_->loop(), stage_->service(), {});
    testing::Pipe pipe = testing::make_pipe(world_->loop());
    server.adopt(std::make_unique<Encrypted>(std::move(pipe.near), security),
                 core::Address::loopback(1));
    testing::TransportPeer peer(world_->loop(), std::move(pipe.far));
    H2Client client(peer);
    const auto stream = client.get("/secure");
    EXPECT_TRUE(run_until([&] { return client.answer(stream).ended; }));
    EXPECT_EQ(of_request, &security);
    EXPECT_TRUE(secure);
    server.abort_all();
    world_->settle();
}

TEST_P(H2Answers, RequestsAreOfOneConnectionOrOfAnother) {
    std::vector<SlotId> of;
    stage_->on("/which", [&](Exchange& exchange) {
        of.push_back(exchange.request().connection);
        exchange.respond_status(204);
    });
    ASSERT_TRUE(ended(connect().get("/which")));
    ASSERT_TRUE(ended(client_->get("/which")));
    const auto first = std::move(peer_);  // stays open
    ASSERT_TRUE(ended(connect().get("/which")));
    ASSERT_EQ(of.size(), 3U);
    EXPECT_TRUE(static_cast<bool>(of[0]));
    EXPECT_EQ(of[1], of[0]);
    EXPECT_NE(of[2], of[0]);
}

// --- bodies ----------------------------------------------------------------------------------

// In as few frames as there may be: END_STREAM shares the frame of the last bytes in memory.
TEST_P(H2Answers, TheLastBytesOfABodyEndItsStream) {
    H2Client& client = connect({{H2SettingId::initial_window_size, 1'000'000}});
    client.window_update(0, 1'000'000);
    const auto stream = client.get("/large");
    ASSERT_TRUE(ended(stream));
    EXPECT_EQ(client.answer(stream).frames, large_.size() / H2Sender::data_bytes_max + 1);
}

TEST_P(H2Answers, AByteWaitsForItsWindow) {
    answer_with("/byte", "x");
    H2Client& client = connect({{H2SettingId::initial_window_size, 0}});
    const auto stream = client.get("/byte");
    ASSERT_TRUE(run_until([&] { return client.answer(stream).status == 200; }));
    world_->settle();
    EXPECT_EQ(client.answer(stream).frames, 0U);
    client.window_update(stream, 1);
    ASSERT_TRUE(ended(stream));
    EXPECT_EQ(client.answer(stream).body, "x");
    EXPECT_EQ(client.answer(stream).frames, 1U);
}

TEST_P(H2Answers, ABodyThatWaitsOutlivesItsResponse) {
    const std::string body = "the beginning, " + std::string(200, '.') + " and the end";
    answer_with("/text", body);
    H2Client& client = connect({{H2SettingId::initial_window_size, 5}});
    const auto stream = client.get("/text");
    ASSERT_TRUE(run_until([&] { return client.answer(stream).body == "the b"; }));
    client.window_update(stream, 1'000);
    ASSERT_TRUE(ended(stream));
    EXPECT_EQ(client.answer(stream).body, body);
}

TEST_P(H2Answers, SmallOnesAreTakenFromTheConnectionsWindowToo) {
    H2Client& client = connect({{H2SettingId::initial_window_size, 1'000'000}});
    for (int i = 0; i < 10; ++i) ASSERT_TRUE(ended(client.get("/hello")));  // 6 bytes each
    const auto large = client.get("/large");
    ASSERT_TRUE(run_until([&] { return client.answer(large).body.size() >= 65'535 - 60; }));
    world_->settle();
    EXPECT_EQ(client.answer(large).body.size(), 65'535U - 60);
}

// The large one waits for the queue alone, which still takes more for others.
TEST_P(H2Answers, ASmallOneWaitsForALargeOneThatCameBefore) {
    H2Client& client = connect({{H2SettingId::initial_window_size, 1'000'000}});
    client.window_update(0, 1'000'000);
    world_->settle();
    peer_->set_listening(false);
    std::vector<std::uint32_t> streams;
    for (int i = 0; i < 20; ++i) streams.push_back(client.get("/large"));
    world_->settle();
    const auto small = client.get("/hello");
    world_->settle();
    client.window_update(0, 10'000'000);
    peer_->set_listening(true);
    ASSERT_TRUE(ended(small));
    for (const auto stream : streams) EXPECT_TRUE(client.answer(stream).ended) << stream;
    EXPECT_EQ(client.data_order().back(), small);
}

}  // namespace
}  // namespace tiderace::http
