#include "tiderace/jwt/public_key.h"

#include <gtest/gtest.h>

#include <openssl/err.h>

#include <string>
#include <string_view>

#include "tiderace/base/base64.h"
#include "tiderace/jwt/token_fixture.h"

namespace tiderace::jwt {
namespace {

std::string decoded(std::string_view part) {
    std::string text(part);
    for (char& c : text) c = c == '-' ? '+' : c == '_' ? '/' : c;
    text.resize((text.size() + 3) / 4 * 4, '=');
    return read_base64(text).value();
}

struct Parts {
    std::string_view text;
    std::string signature;
};
Parts parts(std::string_view token) {
    const std::size_t dot = token.rfind('.');
    return {token.substr(0, dot), decoded(token.substr(dot + 1))};
}

struct Example {
    Algorithm algorithm;
    std::string key;
    std::string_view token;
};
const std::vector<Example>& examples() {
    static const std::vector<Example> all{
        {Algorithm::hs256, decoded(tokens::rfc_hs256_secret_base64url), tokens::rfc_hs256},
        {Algorithm::rs256, std::string(tokens::rfc_rsa_key), tokens::rfc_rs256},
        {Algorithm::es256, std::string(tokens::rfc_ec_key), tokens::rfc_es256},
        {Algorithm::eddsa, std::string(tokens::rfc_ed25519_key), tokens::rfc_eddsa},
    };
    return all;
}

TEST(PublicKey, VerifiesTheExamplesOfTheStandards) {
    for (const Example& one : examples()) {
        const auto key = PublicKey::make({.algorithm = one.algorithm, .text = one.key});
        ASSERT_TRUE(key.has_value()) << key.error().message();
        const auto [text, signature] = parts(one.token);
        EXPECT_TRUE(key->verify(text, signature)) << one.token;
    }
}

TEST(PublicKey, NoByteCanBeChanged) {
    for (const Example& one : examples()) {
        const auto key = PublicKey::make({.algorithm = one.algorithm, .text = one.key});
        const auto [text, signature] = parts(one.token);
        for (std::size_t i = 0; i < signature.size(); ++i) {
            std::string bad = signature;
            bad[i] = static_cast<char>(bad[i] ^ 1);
            EXPECT_FALSE(key->verify(text, bad)) << i;
        }
        EXPECT_FALSE(key->verify(std::string(text) + " ", signature));
        EXPECT_FALSE(key->verify("", signature));
        for (const std::size_t size : {std::size_t{0}, std::size_t{1}, signature.size() - 1}) {
            EXPECT_FALSE(key->verify(text, signature.substr(0, size))) << size;
        }
        EXPECT_FALSE(key->verify(text, signature + '\0'));
        EXPECT_FALSE(key->verify(text, std::string(signature.size(), '\0')));
        EXPECT_EQ(ERR_peek_error(), 0UL) << "TLS would take it for its own";
    }
}

TEST(PublicKey, AKeyHasTheAlgorithmThatIsNamed) {
    const std::string rsa(tokens::rsa_key);
    const std::string ec(tokens::ec_key);
    const std::string ed(tokens::ed25519_key);
    struct Case {
        Key key;
        std::string_view why;
    };
    for (const Case& one : {
             Case{{Algorithm::rs256, ec}, "it is no key of RSA"},
             {{Algorithm::rs256, ed}, "it is no key of RSA"},
             {{Algorithm::es256, rsa}, "it is no key of the curve P-256"},
             {{Algorithm::es256, std::string(tokens::p384_key)}, "it is no key of the curve P-256"},
             {{Algorithm::eddsa, ec}, "it is no key of Ed25519"},
             {{Algorithm::rs256, std::string(tokens::rsa_1024_key)}, "has 2048 to 8192 bits"},
             {{Algorithm::hs256, rsa}, "is no PEM"},
             {{Algorithm::hs256, std::string(31, 'x')}, "has 32 bytes or more"},
             {{Algorithm::hs256, ""}, "has 32 bytes or more"},
             {{Algorithm::es256, ""}, "no public key in its text"},
             {{Algorithm::es256, std::string(tokens::secret)}, "no public key in its text"},
             {{Algorithm::es256, ec.substr(0, 100)}, "no public key in its text"},
         }) {
        const auto made = PublicKey::make(one.key);
        ASSERT_FALSE(made.has_value()) << one.why;
        EXPECT_NE(made.error().message().find(one.why), std::string::npos)
            << made.error().message();
        EXPECT_EQ(ERR_peek_error(), 0UL);
    }
}

}  // namespace
}  // namespace tiderace::jwt
