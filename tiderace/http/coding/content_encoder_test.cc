#include "tiderace/http/coding/content_encoder.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tiderace/base/random.h"
#include "tiderace/http/wire/entity_tag.h"
#include "tiderace/testing/content_decoder.h"

namespace tiderace::http::coding {
namespace {

using Until = ContentEncoder::Until;
using wire::ContentCoding;

// Words with some noise between: shrinks to about a third, and no two places are alike.
std::string prose(std::size_t bytes) {
    Random random(7);
    std::string text;
    while (text.size() < bytes) {
        text += "the tide comes in, and number ";
        text += std::to_string(random.next() % 1'000'000);
        text += " goes out; ";
    }
    text.resize(bytes);
    return text;
}

struct Case {
    ContentCoding coding;
    Purpose purpose;
};

std::string name_of(const Case& each) {
    constexpr std::string_view purpose_names[] = {"answer", "events", "file"};
    return std::string(wire::coding_name(each.coding)) + "_" +
           std::string(purpose_names[static_cast<int>(each.purpose)]);
}

class ContentEncoderTest : public ::testing::TestWithParam<Case> {
  protected:
    void SetUp() override {
        encoder_ = make_encoder(GetParam().coding, GetParam().purpose);
        if (encoder_ == nullptr) GTEST_SKIP() << "not built in";
    }

    // Feeds one piece until the encoder reports that it reached `until`.
    std::string feed(ByteView piece, Until until, std::size_t room_bytes = 4096) {
        std::string made;
        std::string room(room_bytes, '\0');
        for (int i = 0; i < 1'000'000; ++i) {
            const auto step = encoder_->step(piece, room, until);
            EXPECT_FALSE(step.failed);
            made.append(room, 0, step.made);
            piece.remove_prefix(step.used);
            if (step.done) return made;
        }
        ADD_FAILURE() << "never done";
        return made;
    }
    std::string encode(ByteView text, std::size_t piece_bytes, std::size_t room_bytes) {
        EXPECT_TRUE(encoder_->reset(text.size()));
        std::string made;
        while (text.size() > piece_bytes) {
            made += feed(text.substr(0, piece_bytes), Until::taken, room_bytes);
            text.remove_prefix(piece_bytes);
        }
        return made + feed(text, Until::finished, room_bytes);
    }

    std::unique_ptr<ContentEncoder> encoder_;
};

TEST_P(ContentEncoderTest, WhatGoesInComesOutOfADecoder) {
    for (const std::size_t bytes : {0, 1, 2, 1000, 65'536, 300'000}) {
        const std::string text = prose(bytes);
        EXPECT_EQ(testing::decode_all(GetParam().coding, encode(text, 32'768, 4096)), text)
            << bytes;
    }
}

TEST_P(ContentEncoderTest, HoweverItIsCut) {
    const std::string text = prose(5000);
    for (const std::size_t piece : {1, 7, 100, 4999, 5000}) {
        for (const std::size_t room : {1, 13, 100'000}) {
            EXPECT_EQ(testing::decode_all(GetParam().coding, encode(text, piece, room)), text)
                << piece << " into " << room;
        }
    }
}

TEST_P(ContentEncoderTest, ProseShrinksToAHalfAtMost) {
    const std::string text = prose(100'000);
    EXPECT_LT(encode(text, 32'768, 4096).size(), text.size() / 2);
}

TEST_P(ContentEncoderTest, EachFlushMakesAllBeforeItReadable) {
    const auto decoder = testing::make_decoder(GetParam().coding);
    ASSERT_TRUE(encoder_->reset({}));
    for (int i = 0; i < 50; ++i) {
        const std::string event = "data: " + std::to_string(i) + "\n\n";
        std::string made = feed(event, Until::taken, 64);
        made += feed({}, Until::flushed, 64);
        EXPECT_EQ(decoder->decode(made), event);
    }
    EXPECT_EQ(decoder->decode(feed({}, Until::finished)), "");
    EXPECT_TRUE(decoder->ended());
}

TEST_P(ContentEncoderTest, AStreamThatWasLeftInItsMiddleLeavesNothingBehind) {
    const std::string text = prose(20'000);
    const std::string fresh = encode(text, 8192, 4096);
    ASSERT_TRUE(encoder_->reset({}));
    feed(prose(70'000), Until::taken);
    EXPECT_EQ(encode(text, 8192, 4096), fresh);
}

TEST_P(ContentEncoderTest, ItHoldsNoMoreThanItsPurposeAllows) {
    // Longer than every window. The length of a file is known, of an answer it is not.
    const bool is_file = GetParam().purpose == Purpose::file;
    const std::vector<std::size_t> sizes =
        is_file ? std::vector<std::size_t>{57_KiB, 256_KiB, 1_MiB, 3_MiB}
                : std::vector<std::size_t>{1'500'000, 1'500'000};
    const std::string text = prose(sizes.back());
    std::size_t most = 0;
    for (const std::size_t size : sizes) {
        ASSERT_TRUE(encoder_->reset(is_file ? std::optional<std::uint64_t>(size) : std::nullopt));
        std::string made;
        for (std::size_t at = 0; at < size; at += 32'768) {
            made += feed(ByteView(text).substr(at, std::min<std::size_t>(32'768, size - at)),
                         Until::taken);
            if (GetParam().purpose == Purpose::events) made += feed({}, Until::flushed);
            most = std::max(most, encoder_->memory_bytes());
        }
        made += feed({}, Until::finished);
        EXPECT_EQ(testing::decode_all(GetParam().coding, made), text.substr(0, size));
        most = std::max(most, encoder_->memory_bytes());
        EXPECT_LE(most, encoder_bytes_max(GetParam().purpose)) << size;
    }
    RecordProperty("memory_bytes", static_cast<int>(most));
}

INSTANTIATE_TEST_SUITE_P(, ContentEncoderTest,
                         ::testing::Values(Case{ContentCoding::gzip, Purpose::answer},
                                           Case{ContentCoding::gzip, Purpose::events},
                                           Case{ContentCoding::gzip, Purpose::file},
                                           Case{ContentCoding::br, Purpose::answer},
                                           Case{ContentCoding::br, Purpose::events},
                                           Case{ContentCoding::br, Purpose::file},
                                           Case{ContentCoding::zstd, Purpose::answer},
                                           Case{ContentCoding::zstd, Purpose::events},
                                           Case{ContentCoding::zstd, Purpose::file}),
                         [](const auto& each) { return name_of(each.param); });

TEST(MakeEncoder, MakesWhatIsBuiltInAndNothingElse) {
    const wire::AvailableCodings built_in = built_in_codings();
    EXPECT_EQ(make_encoder(ContentCoding::gzip, Purpose::answer) != nullptr, built_in.gzip);
    EXPECT_EQ(make_encoder(ContentCoding::zstd, Purpose::answer) != nullptr, built_in.zstd);
    EXPECT_EQ(make_encoder(ContentCoding::br, Purpose::answer) != nullptr, built_in.br);
    EXPECT_EQ(make_encoder(ContentCoding::identity, Purpose::answer), nullptr);
}

TEST(RecipeOf, NamesTheLibraryAndItsVersion) {
    if (!built_in_codings().gzip) GTEST_SKIP() << "gzip is not built in";
    EXPECT_TRUE(recipe_of(ContentCoding::gzip).starts_with("zlib 1."));
    EXPECT_EQ(recipe_of(ContentCoding::identity), "");
    EXPECT_TRUE(tag_suffix_of(ContentCoding::gzip).starts_with("gzip-"));
    EXPECT_LE(tag_suffix_of(ContentCoding::zstd).size(), wire::tag_suffix_bytes_max);
}

}  // namespace
}  // namespace tiderace::http::coding
