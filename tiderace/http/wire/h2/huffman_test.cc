#include "tiderace/http/wire/h2/huffman.h"

#include <gtest/gtest.h>

#include <string>

#include "tiderace/base/random.h"

namespace tiderace::http::wire {
namespace {

using namespace std::string_literals;

std::string encoded(ByteView text) {
    std::string code(huffman::encoded_bytes(text), '!');
    EXPECT_EQ(huffman::encode(text, code), code.size());
    return code;
}

// The text, or why there is none.
std::string decoded(ByteView code, std::size_t room = 1000) {
    std::string text(room, '!');
    const huffman::Decoded result = huffman::decode(code, text);
    if (result.status == huffman::Decoded::Status::corrupt) return "corrupt";
    if (result.status == huffman::Decoded::Status::no_room) return "no room";
    return text.substr(0, result.bytes);
}

TEST(Huffman, CodesTheExamplesOfTheRfc) {
    struct Case {
        ByteView text;
        std::string code;
    };
    const Case cases[] = {
        {"www.example.com", "\xf1\xe3\xc2\xe5\xf2\x3a\x6b\xa0\xab\x90\xf4\xff"},
        {"no-cache", "\xa8\xeb\x10\x64\x9c\xbf"},
        {"custom-key", "\x25\xa8\x49\xe9\x5b\xa9\x7d\x7f"},
        {"custom-value", "\x25\xa8\x49\xe9\x5b\xb8\xe8\xb4\xbf"},
        {"302", "\x64\x02"},
        {"private", "\xae\xc3\x77\x1a\x4b"},
        {"", ""},
    };
    for (const Case& c : cases) {
        EXPECT_EQ(encoded(c.text), c.code) << c.text;
        EXPECT_EQ(decoded(c.code), c.text);
    }
}

TEST(Huffman, EveryPairOfBytesComesBack) {
    for (int one = 0; one < 256; ++one) {
        for (int two = 0; two < 256; ++two) {
            const std::string text = {static_cast<char>(one), static_cast<char>(two)};
            ASSERT_EQ(decoded(encoded(text)), text) << one << ' ' << two;
        }
    }
}

TEST(Huffman, RandomTextComesBackIntoExactlyItsRoom) {
    Random random(7);
    for (int round = 0; round < 3000; ++round) {
        std::string text(random.below(60), '\0');
        const std::uint64_t kind = random.below(3);  // all bytes, printable ones, short codes
        for (char& c : text) {
            if (kind == 0) c = static_cast<char>(random.below(256));
            if (kind == 1) c = static_cast<char>(' ' + random.below(95));
            if (kind == 2) c = "aeiost012"[random.below(9)];
        }
        const std::string code = encoded(text);
        ASSERT_EQ(decoded(code, text.size()), text);
        if (text.empty()) continue;
        ASSERT_EQ(decoded(code, text.size() - 1), "no room");
        const std::string cut = decoded(code.substr(0, code.size() - 1));
        ASSERT_NE(cut, text);
    }
}

TEST(Huffman, RefusesPaddingThatNoEncoderWrites) {
    const std::string bad[] = {
        "\x1e"s,              // 'a' is 00011: then 110
        "\x18"s,              // then 000
        "\x1f\xff"s,          // right padding, and a byte of it too much
        "\xff"s,              // eight bits of padding alone
        "\xff\xff\xff\xff"s,  // EOS and two bits
        "\xff\xff\xff\xfc"s,  // EOS, then zeros
        "\xff\xff\xff"s,      // the beginning of EOS
        "\xff\xff\xff\xf0"s,  // the longest code but EOS, cut by two bits
        "\x1f\xff\xff\xff\xff"s,
    };
    for (const std::string& code : bad) EXPECT_EQ(decoded(code), "corrupt");
    EXPECT_EQ(decoded("\x1f"), "a");
}

TEST(Huffman, ACorruptEndIsFoundWhereThereIsRoomForTheRest) {
    EXPECT_EQ(decoded("\x1f\xff", 1), "corrupt");
    EXPECT_EQ(decoded("\x18\xc6", 0), "no room");
}

TEST(HuffmanDeathTest, EncodingNeedsRoom) {
    std::string code(1, '!');
    EXPECT_DEATH(huffman::encode("www", code), "no room");
}

}  // namespace
}  // namespace tiderace::http::wire
