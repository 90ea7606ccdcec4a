#include "tiderace/http/app/signed/signing_keys.h"

#include <gtest/gtest.h>

#include <string>

namespace tiderace::http {
namespace {

const std::string older(32, 'o');
const std::string newer(32, 'n');

// printf 'a\0b' | openssl dgst -sha256 -hmac "$(printf 'n%.0s' $(seq 32))"
TEST(SigningKeys, SignWithTheFirstAndVerifyWithAll) {
    const SigningKeys both({newer, older});
    EXPECT_EQ(both.sign("a", "b"),
              "674b1482d02bc450b0d56da2848805d75e5d92ecd1aefe32f980ba92742f9a2b");
    EXPECT_TRUE(both.verify("a", "b", SigningKeys({newer}).sign("a", "b")));
    EXPECT_TRUE(both.verify("a", "b", SigningKeys({older}).sign("a", "b")));
    EXPECT_FALSE(SigningKeys({newer}).verify("a", "b", SigningKeys({older}).sign("a", "b")));
    EXPECT_FALSE(both.verify("a", "b", ""));
    EXPECT_FALSE(both.verify("a", "bb", both.sign("a", "b")));
    EXPECT_FALSE(both.verify("c", "b", both.sign("a", "b"))) << "of another kind";
    EXPECT_FALSE(both.verify("", "ab", both.sign("a", "b")));
}

TEST(SigningKeysDeathTest, AKeyHas32Bytes) {
    EXPECT_DEATH(SigningKeys({}), "needs a key");
    EXPECT_DEATH(SigningKeys({newer, std::string(31, 'x')}), "at least 32 bytes");
}

}  // namespace
}  // namespace tiderace::http
