#include "tiderace/http/wire/websocket_deflate.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tiderace/base/random.h"

namespace tiderace::http::wire {
namespace {

using Outcome = WebSocketInflater::Outcome;
using std::string_literals::operator""s;

std::string answer_to(const std::string& offer, const DeflateWishes& ours = {}) {
    RequestHead head;
    head.clear();
    head.add_field("Sec-WebSocket-Extensions", offer);
    const auto terms = agree_on_deflate(head, ours);
    return terms ? format_deflate_terms(*terms) : "declined";
}

constexpr const char* alone =
    "permessage-deflate; server_no_context_takeover; client_no_context_takeover";
const DeflateWishes windows{.server_context_takeover = true, .client_context_takeover = true};

struct OfferCase {
    const char* offer;
    DeflateWishes ours;
    std::string answer;
};

TEST(DeflateTerms, AreAgreedOnAsTheStandardSays) {
    DeflateWishes small = windows;
    small.server_max_window_bits = 11;
    small.client_max_window_bits = 10;
    const OfferCase cases[] = {
        {"permessage-deflate", {}, alone},
        {"permessage-deflate", windows, "permessage-deflate"},
        {"permessage-deflate; server_no_context_takeover", windows,
         "permessage-deflate; server_no_context_takeover"},
        {"permessage-deflate; client_no_context_takeover", windows,
         "permessage-deflate; client_no_context_takeover"},
        {"permessage-deflate; server_max_window_bits=10", windows,
         "permessage-deflate; server_max_window_bits=10"},
        {"permessage-deflate; server_max_window_bits=\"10\"", windows,
         "permessage-deflate; server_max_window_bits=10"},
        {"permessage-deflate; client_max_window_bits", small,
         "permessage-deflate; server_max_window_bits=11; client_max_window_bits=10"},
        {"permessage-deflate; client_max_window_bits=9", small,
         "permessage-deflate; server_max_window_bits=11; client_max_window_bits=9"},
        {"permessage-deflate", small, "permessage-deflate; server_max_window_bits=11"},
        {"x-webkit-deflate-frame, permessage-deflate", windows, "permessage-deflate"},
        {"permessage-deflate; server_max_window_bits=8, permessage-deflate", windows,
         "permessage-deflate"},
        {" Permessage-Deflate ;client_max_window_bits", windows, "permessage-deflate"},
    };
    for (const OfferCase& one : cases) {
        EXPECT_EQ(answer_to(one.offer, one.ours), one.answer) << one.offer;
    }
}

TEST(DeflateTerms, AreDeclinedWhenAnOfferIsNotUnderstood) {
    for (const char* offer : {
             "",
             "permessage-bzip2",
             "permessage-deflate; unknown",
             "permessage-deflate; server_no_context_takeover=1",
             "permessage-deflate; server_no_context_takeover; server_no_context_takeover",
             "permessage-deflate; server_max_window_bits",
             "permessage-deflate; server_max_window_bits=7",
             "permessage-deflate; server_max_window_bits=8",
             "permessage-deflate; server_max_window_bits=16",
             "permessage-deflate; server_max_window_bits=010",
             "permessage-deflate; server_max_window_bits=",
             "permessage-deflate; client_max_window_bits=16",
             "permessage-deflate; client_max_window_bits; client_max_window_bits=10",
             "permessage-deflate;",
             "permessage-deflate; ;",
             "permessage-deflate; \"server_no_context_takeover\"",
         }) {
        EXPECT_EQ(answer_to(offer, windows), "declined") << offer;
    }
}

TEST(DeflateTerms, AClientTakesOnlyWhatItOffered) {
    EXPECT_EQ(deflate_offer({}), std::string(alone) + "; client_max_window_bits");
    EXPECT_EQ(deflate_offer(windows), "permessage-deflate; client_max_window_bits");
    EXPECT_EQ(accept_deflate_answer(alone, {}), DeflateTerms{});
    const auto small = accept_deflate_answer(
        "permessage-deflate; client_max_window_bits=10; server_max_window_bits=12", windows);
    ASSERT_TRUE(small.has_value());
    EXPECT_EQ(small->client_max_window_bits, 10);
    EXPECT_EQ(small->server_max_window_bits, 12);
    EXPECT_FALSE(accept_deflate_answer("permessage-deflate", {}).has_value());
    for (const char* bad :
         {"x", "permessage-deflate, permessage-deflate", "permessage-deflate; what",
          "permessage-deflate; client_max_window_bits",
          "permessage-deflate; client_max_window_bits=8",
          "permessage-deflate; server_max_window_bits=16"}) {
        EXPECT_FALSE(accept_deflate_answer(bad, windows).has_value()) << bad;
    }
}

std::string inflated(WebSocketInflater& inflater, ByteView payload, bool keep = false) {
    std::string out;
    EXPECT_EQ(inflater.decompress(payload, keep, 1 << 20, out), Outcome::whole);
    return out;
}

TEST(WebSocketInflater, ReadsTheExamplesOfTheStandard) {
    WebSocketInflater inflater;
    EXPECT_EQ(inflated(inflater, "\xf2\x48\xcd\xc9\xc9\x07\x00"s), "Hello");
    // The second one refers to the first.
    EXPECT_EQ(inflated(inflater, "\xf2\x48\xcd\xc9\xc9\x07\x00"s, true), "Hello");
    EXPECT_EQ(inflated(inflater, "\xf2\x00\x11\x00\x00"s, true), "Hello");
    WebSocketInflater other;
    EXPECT_EQ(inflated(other, "\x00\x05\x00\xfa\xff\x48\x65\x6c\x6c\x6f\x00"s), "Hello");
    // A block that says it is the last.
    EXPECT_EQ(inflated(other, "\xf3\x48\xcd\xc9\xc9\x07\x00\x00"s), "Hello");
    EXPECT_EQ(inflated(other, "\xf2\x48\x05\x00\x00\x00\xff\xff\xca\xc9\xc9\x07\x00"s), "Hello");
    EXPECT_EQ(inflated(other, "\x00"s), "");
}

TEST(WebSocketDeflater, WritesWhatTheInflaterReadsForEveryWindowAndSize) {
    Random random(9);
    for (int bits = 9; bits <= 15; ++bits) {
        for (const bool keep : {false, true}) {
            WebSocketDeflater deflater(bits, 6);
            WebSocketInflater inflater(bits);
            for (const std::size_t size : {0u, 0u, 1u, 2u, 100u, 5'000u, 0u, 70'000u, 3u}) {
                std::string message(size, '\0');
                for (char& c : message) c = static_cast<char>('a' + random.below(7));
                std::string payload;
                deflater.compress(message, keep, payload);
                ASSERT_EQ(inflated(inflater, payload, keep), message) << bits << ' ' << size;
            }
        }
    }
}

TEST(WebSocketDeflater, MakesUseOfAContextItKeeps) {
    const std::string message = "a message that is sent again and again, word for word";
    WebSocketDeflater deflater(15, 6);
    std::string first, second, alone_again;
    deflater.compress(message, true, first);
    deflater.compress(message, true, second);
    EXPECT_LT(second.size(), first.size() / 2);
    WebSocketDeflater forgetful(15, 6);
    forgetful.compress(message, false, alone_again);
    std::string again;
    forgetful.compress(message, false, again);
    EXPECT_EQ(alone_again, again);
}

TEST(WebSocketInflater, KeepsItsBoundToTheByte) {
    const std::string message(1'000'000, 'a');
    std::string payload;
    WebSocketDeflater(15, 9).compress(message, false, payload);
    EXPECT_LT(payload.size(), 2'000u);
    WebSocketInflater inflater;
    for (const std::size_t less : {1u, 500'000u, 999'999u, 1'000'000u}) {
        std::string out;
        EXPECT_EQ(inflater.decompress(payload, false, message.size() - less, out),
                  Outcome::too_large);
        EXPECT_LE(out.size(), message.size() - less + 1);
    }
    std::string out;
    EXPECT_EQ(inflater.decompress(payload, false, message.size(), out), Outcome::whole);
    EXPECT_EQ(out, message);
}

TEST(WebSocketInflater, RefusesWhatIsNoDeflateStreamAndGoesOnWithTheNextMessage) {
    WebSocketInflater inflater;
    for (const std::string& bad :
         {"\xff\xff\xff\xff"s, "\x07"s, "\x00\x05\x00\xfa\xfe"s, std::string(40, '\x55')}) {
        std::string out;
        EXPECT_EQ(inflater.decompress(bad, false, 1'000'000, out), Outcome::malformed);
        EXPECT_EQ(inflated(inflater, "\xf2\x48\xcd\xc9\xc9\x07\x00"s), "Hello");
    }
}

TEST(WebSocketInflater, RefusesAMessageThatIsCutInsideABlock) {
    std::string payload;
    WebSocketDeflater(15, 6).compress("some words, and some words again, and others", false,
                                      payload);
    WebSocketInflater inflater;
    std::size_t whole = 0;
    for (std::size_t cut = 1; cut + 1 < payload.size(); ++cut) {
        std::string out;
        whole += inflater.decompress(ByteView(payload).substr(0, cut), false, 1'000, out) ==
                 Outcome::whole;
    }
    EXPECT_EQ(whole, 0u);
}

}  // namespace
}  // namespace tiderace::http::wire
