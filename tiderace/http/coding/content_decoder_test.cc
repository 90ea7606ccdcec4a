#include "tiderace/http/coding/content_decoder.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tiderace/http/coding/content_encoder.h"

namespace tiderace::http::coding {
namespace {

using wire::ContentCoding;

std::vector<ContentCoding> built_in() {
    std::vector<ContentCoding> all;
    const wire::AvailableCodings available = built_in_decodings();
    if (available.gzip) all.push_back(ContentCoding::gzip);
    if (available.zstd) all.push_back(ContentCoding::zstd);
    if (available.br) all.push_back(ContentCoding::br);
    return all;
}

std::string encode(ContentCoding coding, ByteView text) {
    const auto encoder = make_encoder(coding, Purpose::answer);
    encoder->reset(text.size());
    std::string out(text.size() + 1'000, '\0');
    std::size_t made = 0;
    for (bool done = false; !done;) {
        const auto step =
            encoder->step(text, std::span(out).subspan(made), ContentEncoder::Until::finished);
        text.remove_prefix(step.used);
        made += step.made;
        done = step.done;
    }
    return out.substr(0, made);
}

// The content; with "!" at its end where it failed, "…" where it is unfinished.
std::string decode(ContentCoding coding, ByteView bytes, std::size_t piece, std::size_t room) {
    const auto decoder = make_decoder(coding);
    std::string text;
    std::string out(room, '\0');
    while (true) {
        const ByteView given = bytes.substr(0, piece);
        const auto step = decoder->step(given, out);
        EXPECT_LE(step.made, room);
        text.append(out, 0, step.made);
        bytes.remove_prefix(step.used);
        if (step.failed) return text + "!";
        if (step.used == 0 && step.made == 0) break;
    }
    return decoder->ended() ? text : text + "…";
}

const std::string content = [] {
    std::string text;
    for (int i = 0; i < 500; ++i) text += "line " + std::to_string(i * 7919) + "\n";
    return text;
}();

TEST(ContentDecoder, GivesBackWhatWasEncodedHoweverItIsCut) {
    ASSERT_FALSE(built_in().empty());
    for (const ContentCoding coding : built_in()) {
        const std::string bytes = encode(coding, content);
        EXPECT_LT(bytes.size(), content.size());
        for (const std::size_t piece : {1U, 7U, 1'000U, 1'000'000U}) {
            EXPECT_EQ(decode(coding, bytes, piece, 64 * 1024), content);
            EXPECT_EQ(decode(coding, bytes, piece, 10), content);
        }
    }
}

TEST(ContentDecoder, WhatIsCutShortIsNotEnded) {
    for (const ContentCoding coding : built_in()) {
        const std::string bytes = encode(coding, content);
        for (const std::size_t cut : {bytes.size() - 1, bytes.size() / 2, std::size_t{1}}) {
            EXPECT_TRUE(decode(coding, ByteView(bytes).substr(0, cut), 100, 1'000).ends_with("…"))
                << cut;
        }
        EXPECT_TRUE(decode(coding, "", 100, 1'000).ends_with("…"));
    }
}

TEST(ContentDecoder, GarbageFails) {
    for (const ContentCoding coding : built_in()) {
        EXPECT_TRUE(decode(coding, "this is no compressed content", 100, 1'000).ends_with("!"));
        const std::string bytes = encode(coding, content);
        EXPECT_TRUE(
            decode(coding, bytes + "garbage behind it", 1'000'000, 64 * 1024).ends_with("!"));
        EXPECT_TRUE(decode(coding, bytes + "garbage behind it", 1, 64 * 1024).ends_with("!"));
    }
}

TEST(ContentDecoder, ABombIsMadeNoFasterThanThereIsRoom) {
    for (const ContentCoding coding : built_in()) {
        const std::string bytes = encode(coding, std::string(10'000'000, '\0'));
        EXPECT_LT(bytes.size(), 20'000U);
        const auto decoder = make_decoder(coding);
        std::string out(1'000, '\0');
        const auto step = decoder->step(bytes, out);
        EXPECT_LE(step.made, out.size());
        EXPECT_FALSE(decoder->ended());
    }
}

// A server chooses the window, so its size is known only once the content has begun.
TEST(ContentDecoder, TheMemoryOfAWindowIsReported) {
    std::string large;
    for (int i = 0; large.size() < 1'000'000; ++i) large += std::to_string(i * 7919) + ",";
    for (const ContentCoding coding : built_in()) {
        const auto decoder = make_decoder(coding);
        std::string encoded = encode(coding, large);
        ByteView rest(encoded);
        std::string out(64 * 1024, '\0');
        for (std::size_t made = 0; made < large.size() / 2;) {
            const auto step = decoder->step(rest, out);
            ASSERT_FALSE(step.failed);
            rest.remove_prefix(step.used);
            made += step.made;
        }
        EXPECT_GE(decoder->held_bytes(), 32 * 1024U) << coding_name(coding);
        EXPECT_LE(decoder->held_bytes(), 2 * ContentDecoder::window_bytes_max);
        if (coding == ContentCoding::gzip) continue;  // its window has one size
        const auto unused = make_decoder(coding);
        EXPECT_LT(unused->held_bytes(), decoder->held_bytes()) << coding_name(coding);
    }
}

}  // namespace
}  // namespace tiderace::http::coding
