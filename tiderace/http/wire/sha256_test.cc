#include "tiderace/http/wire/sha256.h"

#include <gtest/gtest.h>

#include <string>

namespace tiderace::http::wire {
namespace {

std::string hex(const Sha256& hash) {
    constexpr std::string_view digits = "0123456789abcdef";
    std::string text;
    for (const auto byte : hash) (text += digits[byte >> 4]) += digits[byte & 15];
    return text;
}

// FIPS 180-4's examples.
TEST(Sha256Test, KnownAnswers) {
    EXPECT_EQ(hex(sha256("")), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
    EXPECT_EQ(hex(sha256("abc")),
              "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
    EXPECT_EQ(hex(sha256("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq")),
              "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
    EXPECT_EQ(hex(sha256(std::string(1'000'000, 'a'))),
              "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
}

// RFC 4231: a short key, and one longer than a block.
TEST(Sha256Test, KnownCodes) {
    EXPECT_EQ(hex(hmac_sha256("Jefe", "what do ya want for nothing?")),
              "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843");
    EXPECT_EQ(hex(hmac_sha256(std::string(131, '\xaa'),
                              "Test Using Larger Than Block-Size Key - Hash Key First")),
              "60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54");
}

// A key of exactly a block is used as it is; of one byte more, its hash. Figures: Python's hmac.
TEST(Sha256Test, AKeyOfABlockIsNotShortened) {
    EXPECT_EQ(hex(hmac_sha256(std::string(64, 'k'), "message")),
              "890f3a16e0ca0aaa3bf180f70fa8e3970b3fd6505e98fde157988dcc19d1685c");
    EXPECT_EQ(hex(hmac_sha256(std::string(65, 'k'), "message")),
              "0c256505306af48015530c139bb7add5ad7a6a9291cd511278a067e765816fbd");
}

TEST(Sha256Test, TwoPiecesAreOneText) {
    const std::string text(200, 'x');
    const Sha256 whole = hmac_sha256("key", text);
    for (std::size_t cut = 0; cut <= text.size(); ++cut) {
        const ByteView view = text;
        EXPECT_EQ(hmac_sha256("key", view.substr(0, cut), view.substr(cut)), whole) << cut;
    }
}

// Pieces that end before, at and behind a block's end.
TEST(Sha256Test, AMessageInPiecesIsOneMessage) {
    const std::string text(300, 'y');
    for (std::size_t size = 1; size <= 130; ++size) {
        Sha256Message message;
        for (std::size_t at = 0; at < text.size(); at += size) {
            message.add(ByteView(text).substr(at, size));
        }
        EXPECT_EQ(message.end(), sha256(text)) << size;
    }
}

}  // namespace
}  // namespace tiderace::http::wire
