// Compressed bodies that are made while they are sent, over HTTP/2: what a source gave before it
// paused reaches the client, and a client that goes leaves nothing behind. On every engine.
#include <algorithm>
#include <deque>
#include <map>

#include "tiderace/http/filter/compress.h"
#include "tiderace/http/filter/compressed_body.h"
#include "tiderace/testing/content_decoder.h"
#include "tiderace/testing/h2_fixture.h"

namespace tiderace::http::filter {
namespace {

using testing::ContentDecoder;
using testing::H2Client;
using wire::ContentCoding;
using wire::H2SettingId;

constexpr ContentCoding all_codings[] = {ContentCoding::gzip, ContentCoding::zstd,
                                         ContentCoding::br};

// An answer in progress: sends the given texts, and pauses in between.
class Events {
  public:
    void answer(Exchange& exchange) {
        exchange_ = exchange.defer();
        exchange.on_abandoned([this] { abandoned_ = true; });
        Response response;
        response.add(wire::FieldName::content_type, "text/event-stream");
        response.set_body(std::make_unique<Source>(*this));
        exchange.respond(response);
    }
    void say(std::string text) {
        said_.push_back(std::move(text));
        exchange_->body_ready();
    }
    void end() {
        over_ = true;
        exchange_->body_ready();
    }
    // Our hold on the exchange; the connection has its own.
    void drop() { exchange_ = {}; }

    bool asked() const { return static_cast<bool>(exchange_); }
    bool abandoned() const { return abandoned_; }
    bool source_lives() const { return source_lives_; }

  private:
    class Source final : public BodySource {
      public:
        explicit Source(Events& events) : events_(&events) { events.source_lives_ = true; }
        ~Source() override { events_->source_lives_ = false; }
        State pull(core::BlockPool& blocks, core::SendQueue& out, std::size_t) override {
            if (events_->said_.empty()) return events_->over_ ? State::end : State::wait;
            out.append(blocks, events_->said_.front());
            events_->said_.pop_front();
            return State::more;
        }

      private:
        Events* events_;
    };

    core::Ref<Exchange> exchange_;
    std::deque<std::string> said_;
    bool over_ = false, abandoned_ = false, source_lives_ = false;
};

class CompressOverH2 : public testing::H2Test {
  protected:
    CompressOverH2() {
        stage_->stage().site().add(compress_);
        for (std::size_t i = 0; i < std::size(events_); ++i) {
            stage_->on("/events/" + std::to_string(i),
                       [this, i](Exchange& exchange) { events_[i].answer(exchange); });
        }
    }
    void SetUp() override {
        const auto built_in = coding::built_in_codings();
        if (!built_in.gzip || !built_in.br || !built_in.zstd) GTEST_SKIP() << "not built in";
    }
    // Before what they borrow of the fixture's own.
    ~CompressOverH2() override {
        for (Events& events : events_) events.drop();
        stage_.reset();
    }

    std::uint32_t ask(std::size_t i, ContentCoding coding) {
        const std::string path = "/events/" + std::to_string(i);
        const auto stream =
            client_->get(path, {{"accept-encoding", std::string(wire::coding_name(coding))}});
        EXPECT_TRUE(run_until([&] { return client_->answer(stream).status == 200; }));
        EXPECT_EQ(client_->answer(stream).header("content-encoding"), wire::coding_name(coding));
        return stream;
    }
    // The decoded form of the bytes that came since the last call.
    std::string read(std::uint32_t stream, ContentDecoder& decoder) {
        const std::string& body = client_->answer(stream).body;
        std::size_t& seen = seen_[stream];
        const std::string text = decoder.decode(ByteView(body).substr(seen));
        seen = body.size();
        return text;
    }
    // Until it has these words, and it had no others before them.
    void expect_heard(std::uint32_t stream, ContentDecoder& decoder, const std::string& words) {
        std::string heard;
        EXPECT_TRUE(run_until([&] { return (heard += read(stream, decoder)) == words; })) << heard;
        EXPECT_FALSE(client_->answer(stream).ended);
    }
    // No encoder lent, no source alive, no block of memory taken.
    bool nothing_left() {
        return pool_->loans() == 0 && world_->loop().blocks().taken() == 0 &&
               std::ranges::none_of(events_, [](const Events& e) { return e.source_lives(); });
    }

    core::Ref<coding::EncoderPool> pool_ = core::make_ref<coding::EncoderPool>();
    Compress compress_{pool_, {}};
    Events events_[3];
    std::map<std::uint32_t, std::size_t> seen_;
};

INSTANTIATE_TEST_SUITE_P(Worlds, CompressOverH2, ::testing::ValuesIn(testing::world_names()),
                         [](const auto& world) { return testing::label_of_world(world.param); });

TEST_P(CompressOverH2, BytesBeforeAPauseArriveOnEveryStream) {
    connect();
    std::uint32_t streams[3];
    std::unique_ptr<ContentDecoder> decoders[3];
    for (std::size_t i = 0; i < 3; ++i) {
        decoders[i] = testing::make_decoder(all_codings[i]);
        streams[i] = ask(i, all_codings[i]);
    }
    EXPECT_EQ(pool_->loans(), 3U);
    for (const char* const word : {"one", "two", "three"}) {
        for (std::size_t i = 0; i < 3; ++i) {
            const std::string event = "data: " + std::string(word) + std::to_string(i) + "\n\n";
            events_[i].say(event);
            expect_heard(streams[i], *decoders[i], event);
        }
    }
    for (std::size_t i = 0; i < 3; ++i) {
        events_[i].end();
        ASSERT_TRUE(ended(streams[i]));
        EXPECT_EQ(read(streams[i], *decoders[i]), "");
        EXPECT_TRUE(decoders[i]->ended());
        events_[i].drop();
    }
    EXPECT_TRUE(run_until([&] { return nothing_left(); }));
}

TEST_P(CompressOverH2, APauseWithoutAWordBeforeItSendsNothing) {
    H2Client& client = connect();
    const auto stream = ask(0, ContentCoding::gzip);
    events_[0].say("data: 1\n\n");
    const auto decoder = testing::make_decoder(ContentCoding::gzip);
    expect_heard(stream, *decoder, "data: 1\n\n");
    const std::size_t frames = client.answer(stream).frames;
    events_[0].say("");  // pulled, and pauses again
    ASSERT_TRUE(ended(client.get("/hello")));
    EXPECT_EQ(client.answer(stream).frames, frames);
}

// A flushed piece waits for the window, and is not lost.
TEST_P(CompressOverH2, AFlushedPieceGoesThroughWindowsOfOneByte) {
    H2Client& client = connect({{H2SettingId::initial_window_size, 0}});
    const auto stream = ask(0, ContentCoding::gzip);
    const auto decoder = testing::make_decoder(ContentCoding::gzip);
    for (const std::string event : {"data: 1\n\n", "data: 2\n\n"}) {
        events_[0].say(event);
        std::string heard;
        for (int i = 0; i < 200 && heard != event; ++i) {
            const std::size_t before = client.answer(stream).body.size();
            client.window_update(stream, 1);
            ASSERT_TRUE(run_until([&] { return client.answer(stream).body.size() > before; }));
            ASSERT_EQ(client.answer(stream).body.size(), before + 1);
            heard += read(stream, *decoder);
        }
        EXPECT_EQ(heard, event);
    }
}

TEST_P(CompressOverH2, AStreamResetInTheMiddleLeavesNothingAndHarmsNoOther) {
    H2Client& client = connect();
    for (const ContentCoding coding : all_codings) {
        events_[0] = {};
        const auto stream = ask(0, coding);
        const auto other = ask(1, coding);
        const auto decoder = testing::make_decoder(coding);
        events_[0].say("data: heard by nobody\n\n");
        client.reset(stream);
        ASSERT_TRUE(run_until([&] { return events_[0].abandoned(); }));
        EXPECT_FALSE(events_[0].source_lives());
        EXPECT_EQ(pool_->loans(), 1U);
        events_[0].say("too late, and harmless");
        events_[1].say("data: 1\n\n");
        expect_heard(other, *decoder, "data: 1\n\n");
        client.reset(other);
        events_[0].drop();
        ASSERT_TRUE(run_until([&] { return events_[1].abandoned(); }));
        events_[1].drop();
        events_[1] = {};
        EXPECT_TRUE(run_until([&] { return nothing_left(); }));
    }
    ASSERT_TRUE(ended(client.get("/hello")));
}

// With bytes that wait for the window, and with more to compress in the next turn of the loop.
TEST_P(CompressOverH2, AClientThatGoesInTheMiddleLeavesNothing) {
    std::string much;
    while (much.size() < 4 * CompressedBody::turn_bytes_max) {
        much += std::to_string(much.size() * 2654435761U);
    }
    for (const std::uint32_t window : {0U, 10'000U, 10'000'000U}) {
        for (std::size_t i = 0; i < 3; ++i) {
            connect({{H2SettingId::initial_window_size, window}});
            ask(i, all_codings[i]);
            events_[i].say(much);
            if (window == 0) world_->settle();
            EXPECT_EQ(pool_->loans(), 1U);
            peer_->reset();
            ASSERT_TRUE(run_until([&] { return events_[i].abandoned(); }));
            events_[i].drop();
            EXPECT_TRUE(run_until([&] { return nothing_left(); }));
            EXPECT_EQ(stage_->server().size(), 0U);
            events_[i] = {};
        }
    }
}

}  // namespace
}  // namespace tiderace::http::filter
