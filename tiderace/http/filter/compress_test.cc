#include "tiderace/http/filter/compress.h"

#include <gtest/gtest.h>

#include <functional>

#include "tiderace/http/site_loop.h"
#include "tiderace/testing/content_decoder.h"
#include "tiderace/testing/recorded_exchange.h"

namespace tiderace::http::filter {
namespace {

using testing::decode_all;
using wire::ContentCoding;
using wire::FieldName;
using Fields = testing::RecordedExchange::Fields;
using Answering = std::function<void(Exchange&, Response&)>;

const std::string page = [] {
    std::string text;
    while (text.size() < 5000) text += "<p>the tide comes in, and goes out</p>\n";
    return text;
}();

class Answer final : public Handler {
  public:
    explicit Answer(Answering answer) : answer_(std::move(answer)) {}
    void handle(Exchange& exchange) override {
        Response response;
        response.add(FieldName::content_type, "text/html; charset=utf-8");
        response.set_body(ByteView(page));
        answer_(exchange, response);
        exchange.respond(response);
    }

  private:
    Answering answer_;
};

// Gives its texts one by one; pauses after each until the test continues it.
class Teller final : public BodySource {
  public:
    explicit Teller(std::vector<std::string> texts) : texts_(std::move(texts)) {}
    State pull(core::BlockPool& blocks, core::SendQueue& out, std::size_t) override {
        if (at_ == texts_.size()) return State::end;
        if (paused_) {
            paused_ = false;
            return State::wait;
        }
        out.append(blocks, texts_[at_++]);
        paused_ = true;
        return State::more;
    }

  private:
    std::vector<std::string> texts_;
    std::size_t at_ = 0;
    bool paused_ = false;
};

class CompressTest : public ::testing::Test {
  protected:
    void SetUp() override {
        const auto built_in = coding::built_in_codings();
        if (!built_in.gzip || !built_in.br || !built_in.zstd) GTEST_SKIP() << "not built in";
    }
    testing::RecordedExchange& ask(
        std::string_view method, Fields fields, Answering answer = [](Exchange&, Response&) {}) {
        exchange_ = {};
        handler_ = std::make_unique<Answer>(std::move(answer));
        site_ = std::make_unique<SiteLoop>(*handler_);
        site_->add(compress_);
        exchange_ = core::make_ref<testing::RecordedExchange>(*loop_, method, "/", fields);
        site_->serve(*exchange_);
        return *exchange_;
    }
    testing::RecordedExchange& get(
        std::string_view accept, Answering answer = [](Exchange&, Response&) {}) {
        return ask("GET", {{"Accept-Encoding", std::string(accept)}}, std::move(answer));
    }

    std::unique_ptr<core::EventLoop> loop_ = std::move(*core::EventLoop::create({}));
    core::Ref<coding::EncoderPool> pool_ = core::make_ref<coding::EncoderPool>(
        coding::EncoderPoolLimits{.loans_max = 2, .kept_max = 1});
    Compress compress_{pool_, {}};
    std::unique_ptr<Answer> handler_;
    std::unique_ptr<SiteLoop> site_;
    core::Ref<testing::RecordedExchange> exchange_;
};

TEST_F(CompressTest, ASmallBodyIsCompressedAtOnceWithItsLength) {
    for (const auto coding : {ContentCoding::gzip, ContentCoding::zstd, ContentCoding::br}) {
        auto& answer = get(wire::coding_name(coding));
        EXPECT_EQ(answer.header("Content-Encoding"), wire::coding_name(coding));
        EXPECT_EQ(answer.header("Vary"), "Accept-Encoding");
        EXPECT_EQ(decode_all(coding, answer.body()), page);
        EXPECT_EQ(answer.content_length(), static_cast<std::int64_t>(answer.body().size()));
        EXPECT_LT(answer.body().size(), page.size() / 4);
    }
    EXPECT_EQ(pool_->loans(), 0u);
}

TEST_F(CompressTest, AHundredAnswersAreMadeByOneEncoderOfEachCoding) {
    for (int i = 0; i < 100; ++i) {
        for (const auto coding : {ContentCoding::gzip, ContentCoding::zstd, ContentCoding::br}) {
            EXPECT_EQ(get(wire::coding_name(coding)).header("Content-Encoding"),
                      wire::coding_name(coding));
        }
    }
    EXPECT_EQ(pool_->made(), 3U);
    EXPECT_EQ(pool_->loans(), 0U);
}

TEST_F(CompressTest, HeadSaysWhatGetWouldSay) {
    const auto length = get("br").content_length();
    auto& answer = ask("HEAD", {{"Accept-Encoding", "br"}});
    EXPECT_EQ(answer.header("Content-Encoding"), "br");
    EXPECT_EQ(answer.content_length(), length);
    EXPECT_EQ(answer.body(), "");
}

TEST_F(CompressTest, HeadWithALengthAloneSaysNoLengthOfWhatIsNotThere) {
    auto& answer = ask("HEAD", {{"Accept-Encoding", "br"}},
                       [](Exchange&, Response& response) { response.set_unsent_body(5000); });
    EXPECT_EQ(answer.header("Content-Encoding"), "br");
    EXPECT_EQ(answer.content_length(), -1);
}

TEST_F(CompressTest, TheQualityValuesDecide) {
    const std::pair<const char*, const char*> table[] = {
        {"", ""},
        {"gzip", "gzip"},
        {"gzip, deflate, br, zstd", "br"},
        {"gzip;q=1.0, br;q=0.5", "gzip"},
        {"br;q=0", ""},
        {"*", "br"},
        {"*;q=0", ""},
        {"gzip;q=0, *", "br"},
        {"deflate", ""},
        {"identity, gzip;q=0.5", ""},
        {"gzip;q=2", ""},
        {"gzip;q=0.0001", ""},
        {"GZIP", "gzip"},
        {"x-gzip", "gzip"},
        {",,, gzip ,,", "gzip"},
        {"gzip;q=;q=1", ""},
        {"\"gzip\"", ""},
    };
    for (const auto& [accept, coding] : table) {
        EXPECT_EQ(get(accept).header("Content-Encoding"), coding) << accept;
        EXPECT_EQ(exchange_->header("Vary"), "Accept-Encoding") << accept;
    }
    std::string hostile;
    for (int i = 0; i < 5000; ++i) hostile += "a;q=0.1,";
    EXPECT_EQ(get(hostile + "gzip").header("Content-Encoding"), "gzip");
}

TEST_F(CompressTest, WhatMustNotBeTouchedIsNot) {
    const std::pair<const char*, Answering> table[] = {
        {"a coding already",
         [](Exchange&, Response& r) { r.add(FieldName::content_encoding, "br"); }},
        {"no-transform",
         [](Exchange&, Response& r) {
             r.add(FieldName::cache_control, "max-age=1, no-transform");
         }},
        {"an image", [](Exchange&, Response& r) { r.set(FieldName::content_type, "image/png"); }},
        {"a zip",
         [](Exchange&, Response& r) { r.set(FieldName::content_type, "application/zip"); }},
        {"no type", [](Exchange&, Response& r) { r.remove(FieldName::content_type); }},
        {"no content", [](Exchange&, Response& r) { r.set_status(204); }},
        {"reset content", [](Exchange&, Response& r) { r.set_status(205); }},
        {"a part", [](Exchange&, Response& r) { r.set_status(206); }},
        {"a range", [](Exchange&, Response& r) { r.add(FieldName::content_range, "bytes 0-1/2"); }},
        {"an error", [](Exchange&, Response& r) { r.set_status(404); }},
        {"a digest", [](Exchange&, Response& r) { r.add("Content-Digest", "sha-256=:x=:"); }},
        {"as it is", [](Exchange&, Response& r) { r.set_as_is(); }},
        {"too small", [](Exchange&, Response& r) { r.set_body("short"); }},
    };
    for (const auto& [what, change] : table) {
        const std::string before = get("", change).body();
        auto& answer = get("br, gzip", change);
        EXPECT_EQ(answer.body(), before) << what;
        EXPECT_FALSE(answer.has("Vary")) << what;
        EXPECT_LE(answer.count("Content-Encoding"), 1u) << what;
        EXPECT_NE(answer.header("Content-Encoding"), "gzip") << what;
    }
}

TEST_F(CompressTest, AnAnswerWithoutABodyStaysAsItIs) {
    for (const int status : {204, 304}) {
        auto& answer = get("br", [&](Exchange&, Response& response) {
            response.drop_body();
            response.set_status(status);
            response.add(FieldName::etag, "\"1\"");
        });
        EXPECT_FALSE(answer.has("Content-Encoding")) << status;
        EXPECT_EQ(answer.header("ETag"), "\"1\"") << status;
    }
}

TEST_F(CompressTest, AStrongTagBecomesWeakAndAcceptRangesGoes) {
    const auto tagged = [](Exchange&, Response& response) {
        response.add(FieldName::etag, "\"1\"");
        response.add(FieldName::accept_ranges, "bytes");
    };
    EXPECT_EQ(get("gzip", tagged).header("ETag"), "W/\"1\"");
    EXPECT_EQ(exchange_->count("ETag"), 1u);
    EXPECT_FALSE(exchange_->has("Accept-Ranges"));
    EXPECT_EQ(get("identity", tagged).header("ETag"), "\"1\"");
    EXPECT_TRUE(exchange_->has("Accept-Ranges"));
}

TEST_F(CompressTest, A304NamesTheTagThatTheClientHas) {
    const auto not_modified = [](Exchange&, Response& response) {
        response.drop_body();
        response.set_status(304);
        response.add(FieldName::etag, "\"1\"");
    };
    const std::pair<const char*, const char*> table[] = {
        {"W/\"1\"", "W/\"1\""}, {"\"1\"", "\"1\""},          {"\"0\", W/\"1\"", "W/\"1\""},
        {"*", "\"1\""},         {"W/\"1\", \"1\"", "\"1\""},
    };
    for (const auto& [has, named] : table) {
        EXPECT_EQ(ask("GET", {{"Accept-Encoding", "br"}, {"If-None-Match", has}}, not_modified)
                      .header("ETag"),
                  named)
            << has;
    }
}

TEST_F(CompressTest, VaryIsAddedToAndNotRepeated) {
    const std::pair<const char*, std::size_t> table[] = {
        {"Origin", 2}, {"accept-encoding", 1}, {"*", 1}, {"Origin, Accept-Encoding", 1}};
    for (const auto& [vary, count] : table) {
        get("gzip", [&](Exchange&, Response& r) { r.add(FieldName::vary, vary); });
        EXPECT_EQ(exchange_->count("Vary"), count) << vary;
        FieldBlock block;
        block.add(FieldName::last_modified, "*");
        block.add(FieldName::vary, vary);
        get("gzip", [&](Exchange&, Response& r) { r.set_block(block); });
        EXPECT_EQ(exchange_->count("Vary"), count) << vary << " in a block";
    }
}

TEST_F(CompressTest, ALargeBodyIsCompressedWhileItIsSentAndInSeveralTurns) {
    std::string large;
    while (large.size() < 2'000'000) large += page;
    auto& answer = get("zstd", [&](Exchange&, Response& r) { r.set_body(ByteView(large)); });
    EXPECT_EQ(answer.content_length(), -1);
    EXPECT_EQ(pool_->loans(), 1u);
    int turns = 0;
    answer.finish();
    for (; pool_->loans() != 0 && turns < 100; ++turns) {
        loop_->turn(0s);
        answer.finish();
    }
    EXPECT_GE(turns, 5);
    EXPECT_EQ(decode_all(ContentCoding::zstd, answer.body()), large);
}

TEST_F(CompressTest, ReadyPiecesAreCompressed) {
    class Text final : public core::Shared {
      public:
        std::string bytes = page;
    };
    auto& answer = get("gzip", [&](Exchange& exchange, Response& response) {
        const auto text = core::make_ref<Text>();
        core::SendQueue queue;
        queue.append(exchange.loop().blocks(), "before ");
        queue.append_shared(text->bytes, text);
        response.set_body(std::move(queue));
    });
    EXPECT_EQ(decode_all(ContentCoding::gzip, answer.body()), "before " + page);
}

TEST_F(CompressTest, EventsLeaveWhenTheyHappen) {
    for (const auto coding : {ContentCoding::gzip, ContentCoding::zstd, ContentCoding::br}) {
        auto& answer = get(wire::coding_name(coding), [](Exchange&, Response& response) {
            response.set(FieldName::content_type, "text/event-stream");
            response.set_body(std::make_unique<Teller>(
                std::vector<std::string>{"data: 1\n\n", "data: 2\n\n", "data: 3\n\n"}));
        });
        EXPECT_EQ(answer.header("Content-Encoding"), wire::coding_name(coding));
        const auto decoder = testing::make_decoder(coding);
        std::size_t seen = 0;
        for (const char* event : {"data: 1\n\n", "data: 2\n\n", "data: 3\n\n"}) {
            EXPECT_EQ(decoder->decode(ByteView(answer.body()).substr(seen)), event);
            seen = answer.body().size();
            answer.body_ready();
        }
        decoder->decode(ByteView(answer.body()).substr(seen));
        EXPECT_TRUE(decoder->ended());
        EXPECT_EQ(pool_->loans(), 0u);
    }
}

TEST_F(CompressTest, AClientThatGoesLeavesNothingLent) {
    const auto stream = [](Exchange&, Response& response) {
        response.set_body(std::make_unique<Teller>(std::vector<std::string>{page, page, page}));
    };
    get("br", stream).finish();
    EXPECT_EQ(pool_->loans(), 1u);
    exchange_ = {};
    EXPECT_EQ(pool_->loans(), 0u);
}

TEST_F(CompressTest, WhenAllEncodersAreLentAnswersGoOutPlain) {
    auto one = pool_->borrow(ContentCoding::gzip, coding::Purpose::answer, {});
    auto two = pool_->borrow(ContentCoding::gzip, coding::Purpose::answer, {});
    auto& answer = get("gzip");
    EXPECT_EQ(answer.body(), page);
    EXPECT_FALSE(answer.has("Content-Encoding"));
    EXPECT_EQ(answer.header("Vary"), "Accept-Encoding");
}

}  // namespace
}  // namespace tiderace::http::filter
