#include "tiderace/http/wire/websocket/deflate.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <new>
#include <string>
#include <vector>

#include "tiderace/base/random.h"

namespace {

// All of this program's, counted. Sanitizers bring an operator new of their own: there it stays 0.
std::size_t allocations_of_wire_tests = 0;

}  // namespace

#if !defined(TIDERACE_SANITIZED)
void* operator new(std::size_t bytes) {
    void* const memory = std::malloc(bytes);
    if (memory == nullptr) std::abort();
    ++allocations_of_wire_tests;
    return memory;
}
void operator delete(void* memory) noexcept {
    std::free(memory);
}
void operator delete(void* memory, std::size_t) noexcept {
    std::free(memory);
}
#endif

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
        {"permessage-deflate; server_max_window_bits=15; client_max_window_bits=15", small,
         "permessage-deflate; server_max_window_bits=11; client_max_window_bits=10"},
        {"permessage-deflate; server_max_window_bits=9", windows,
         "permessage-deflate; server_max_window_bits=9"},
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
             "permessage-deflate; server_max_window_bits=\"",
             "permessage-deflate; server_max_window_bits=\"10",
             "permessage-deflate; server_max_window_bits=x10\"",
             "permessage-deflate; server_max_window_bits=14:",
             "permessage-deflate; server_max_window_bits=20",
             "permessage-deflate; client_max_window_bits=16",
             "permessage-deflate; client_max_window_bits=7",
             "permessage-deflate; client_max_window_bits=1",
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
    DeflateWishes narrow = windows;
    narrow.server_max_window_bits = 11;
    EXPECT_EQ(deflate_offer(narrow),
              "permessage-deflate; server_max_window_bits=11; client_max_window_bits");
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

std::string repeated(const std::string& block, std::size_t bytes) {
    std::string all;
    all.reserve(bytes + block.size());
    while (all.size() < bytes) all += block;
    return all;
}

// Blocks that call themselves the last one, each as small as it can be.
TEST(WebSocketInflater, DoesWorkInProportionToItsInputHoweverManyBlocksEndIt) {
    struct Case {
        const char* what;
        std::string block;
        std::size_t produced;  // by each
    };
    const Case cases[] = {
        {"empty, fixed codes", "\x03\x00"s, 0},
        {"empty, stored", "\x01\x00\x00\xff\xff"s, 0},
        {"a letter each", "\x4b\x04\x00"s, 1},
    };
    for (const bool keep : {false, true}) {
        for (const Case& one : cases) {
            WebSocketInflater inflater;
            // A whole window, which must not be copied for each block.
            std::string before;
            WebSocketDeflater(15, 6).compress(std::string(40'000, 'w'), keep, before);
            inflated(inflater, before, keep);
            std::string payload = repeated(one.block, 512 << 10);
            const std::size_t blocks = payload.size() / one.block.size();
            payload += '\0';  // RFC 7692, 7.2.3.4: begins the block that the tail completes
            std::string out;
            out.reserve(1 << 20);
            const std::uint64_t calls = inflater.calls();
            const std::size_t allocations = allocations_of_wire_tests;
            const Outcome outcome = inflater.decompress(payload, keep, 1 << 20, out);
            const std::size_t made = allocations_of_wire_tests - allocations;
            EXPECT_EQ(outcome, Outcome::whole) << one.what;
            EXPECT_EQ(made, 0u) << one.what;
            EXPECT_LE(inflater.calls() - calls, blocks + 4) << one.what;
            EXPECT_EQ(out.size(), blocks * one.produced) << one.what;
        }
    }
}

TEST(WebSocketInflater, RefersToWhatWasBeforeABlockThatEndsTheStream) {
    WebSocketDeflater deflater(15, 6);
    std::string first, second;
    const std::string words = "some words that the second half repeats";
    deflater.compress(words, true, first);
    deflater.compress(words, true, second);
    EXPECT_LT(second.size(), 10u);  // a reference to the first
    for (const std::string& end :
         {"\x03\x00"s, repeated("\x03\x00"s, 1'000), "\x01\x00\x00\xff\xff"s}) {
        WebSocketInflater inflater;
        // The first half ends at a byte, as a sender's flush leaves it.
        const std::string whole = first + "\x00\x00\xff\xff"s + end + second;
        EXPECT_EQ(inflated(inflater, whole), words + words) << end.size();
        // Nothing of it is left for the next message.
        std::string out;
        EXPECT_EQ(inflater.decompress(second, false, 1'000, out), Outcome::malformed);
    }
}

}  // namespace
}  // namespace tiderace::http::wire
