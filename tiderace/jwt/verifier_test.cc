#include "tiderace/jwt/verifier.h"

#include <gtest/gtest.h>

#include <limits>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tiderace/base/base64.h"
#include "tiderace/http/wire/sha256.h"
#include "tiderace/jwt/token_fixture.h"

namespace tiderace::jwt {
namespace {

constexpr UnixSeconds now = 2'000'000'000;
const std::string text_secret(tokens::secret);

std::string url_text(std::string_view bytes) {
    std::string text = base64_of(bytes);
    for (char& c : text) c = c == '+' ? '-' : c == '/' ? '_' : c;
    text.erase(text.find_last_not_of('=') + 1);
    return text;
}

// Signed with the secret, whatever it says.
std::string token_of(std::string_view header, std::string_view claims) {
    std::string token = url_text(header) + "." + url_text(claims);
    const auto sealed = http::wire::hmac_sha256(text_secret, token);
    token += "." + url_text({reinterpret_cast<const char*>(sealed.data()), sealed.size()});
    return token;
}
std::string token_of(std::string_view claims) {
    return token_of(R"({"alg":"HS256"})", claims);
}

const Key secret_key{Algorithm::hs256, text_secret};
const Key rsa_key{Algorithm::rs256, std::string(tokens::rsa_key), "r1"};
const Key ec_key{Algorithm::es256, std::string(tokens::ec_key)};
const Key ed_key{Algorithm::eddsa, std::string(tokens::ed25519_key)};

Verifier verifier_of(std::vector<Key> keys, std::string issuer = {}, std::string audience = {}) {
    auto made = Verifier::make({.keys = std::move(keys),
                                .issuer = std::move(issuer),
                                .audience = std::move(audience),
                                .leeway = Duration::zero()});
    EXPECT_TRUE(made.has_value()) << made.error().message();
    return *std::move(made);
}

std::string outcome(const Verifier& verifier, std::string_view token, UnixSeconds at = now) {
    const auto claims = verifier.verify(token, at);
    return claims ? "good" : std::string(describe(claims.error()));
}
std::string outcome(std::string_view claims, UnixSeconds at = now) {
    return outcome(verifier_of({secret_key}), token_of(claims), at);
}

TEST(Verifier, KnowsTheTokensOfPyJwt) {
    const Verifier verifier =
        verifier_of({secret_key, rsa_key, ec_key, ed_key}, "https://login.example.org", "shop");
    for (const std::string_view token :
         {tokens::hs256, tokens::rs256, tokens::es256, tokens::eddsa}) {
        const auto claims = verifier.verify(token, now);
        ASSERT_TRUE(claims.has_value()) << describe(claims.error()) << token;
        EXPECT_EQ(claims->subject, "ann");
        EXPECT_EQ(claims->expires, 4'000'000'000);
        EXPECT_EQ(claims->all["scope"], json::Value("read"));
    }
}

TEST(Verifier, AnAlgorithmIsTheOneOfAKeyAndNeverTheTokens) {
    const Verifier rsa = verifier_of({rsa_key}, "", "shop");
    constexpr std::string_view refused = "the token's algorithm is not accepted";
    EXPECT_EQ(outcome(rsa, tokens::rs256), "good");
    EXPECT_EQ(outcome(rsa, tokens::none), refused);
    EXPECT_EQ(outcome(rsa, tokens::confused), refused);
    EXPECT_EQ(outcome(rsa, tokens::hs256), refused);
    EXPECT_EQ(outcome(rsa, tokens::ps256), refused);
    EXPECT_EQ(outcome(rsa, tokens::es256), refused);
    const Verifier secret = verifier_of({secret_key});
    for (const char* const name : {"none", "None", "", "hs256", "HS512", "HS256 "}) {
        const std::string header = std::string(R"({"alg":")") + name + "\"}";
        EXPECT_EQ(outcome(secret, token_of(header, R"({"exp":4e9})")), refused) << name;
    }
    EXPECT_EQ(outcome(secret, token_of(R"({"alg":"HS256","crit":["b64"],"b64":false})", "{}")),
              refused);
}

TEST(Verifier, AKeyIsFoundByItsId) {
    const Key other{Algorithm::hs256, std::string(32, 'o'), "other"};
    const Key named{Algorithm::hs256, text_secret, "named"};
    const std::string plain = token_of(R"({"exp":4e9})");
    const auto with_id = [](std::string_view id) {
        return token_of("{\"alg\":\"HS256\",\"kid\":\"" + std::string(id) + "\"}",
                        R"({"exp":4e9})");
    };
    const Verifier both = verifier_of({other, named});
    EXPECT_EQ(outcome(both, plain), "good") << "without an id all are tried";
    EXPECT_EQ(outcome(both, with_id("named")), "good");
    EXPECT_EQ(outcome(both, with_id("other")), "the token's signature is wrong");
    EXPECT_EQ(outcome(both, with_id("none")), "the token's key is not known");
    EXPECT_EQ(outcome(verifier_of({secret_key}), with_id("any")), "good") << "a key for all ids";
    EXPECT_EQ(outcome(both, token_of(R"({"alg":"HS256","kid":7})", "{}")), "this is not a token");
}

TEST(Verifier, TimesAreCheckedWithTheLeeway) {
    EXPECT_EQ(outcome(R"({"exp":2000000001})"), "good");
    EXPECT_EQ(outcome(R"({"exp":2000000000})"), "the token has expired");
    EXPECT_EQ(outcome(R"({"exp":2000000000.5})"), "good");
    EXPECT_EQ(outcome(R"({"exp":-1})"), "the token has expired");
    EXPECT_EQ(outcome(R"({"exp":0})"), "the token has expired");
    EXPECT_EQ(outcome(R"({"exp":-1e300})"), "the token has expired");
    EXPECT_EQ(outcome(R"({"exp":1e300})"), "good");
    EXPECT_EQ(outcome(R"({"exp":18446744073709551615})"), "good");
    EXPECT_EQ(outcome(R"({"exp":10413792000})"), "good") << "the year 2300";
    EXPECT_EQ(outcome(R"({"exp":-5})", -10), "good") << "a clock in 1969";
    EXPECT_EQ(outcome("{}"), "the token does not expire");
    EXPECT_EQ(outcome(R"({"exp":null})"), "the token does not expire");
    EXPECT_EQ(outcome(R"({"exp":4e9,"nbf":2000000000})"), "good");
    EXPECT_EQ(outcome(R"({"exp":4e9,"nbf":2000000001})"), "the token is not valid yet");
    EXPECT_EQ(outcome(R"({"exp":4e9,"nbf":1e300})"), "the token is not valid yet");
    EXPECT_EQ(outcome(R"({"exp":4e9,"nbf":-1})"), "good");
    const auto lenient = Verifier::make({.keys = {secret_key}, .leeway = 60s});
    EXPECT_EQ(outcome(*lenient, token_of(R"({"exp":1999999941})")), "good");
    EXPECT_EQ(outcome(*lenient, token_of(R"({"exp":1999999940})")), "the token has expired");
    EXPECT_EQ(outcome(*lenient, token_of(R"({"exp":4e9,"nbf":2000000060})")), "good");
    EXPECT_EQ(outcome(*lenient, token_of(R"({"exp":4e9,"nbf":2000000061})")),
              "the token is not valid yet");
    EXPECT_EQ(verifier_of({secret_key}).verify(token_of(R"({"exp":1e300})"), now)->expires,
              9'007'199'254'740'992);
}

TEST(Verifier, IssuerAndAudienceAreThoseThatAreExpected) {
    const auto check = [](std::string_view claims, std::string issuer, std::string audience) {
        const Verifier verifier = verifier_of({secret_key}, std::move(issuer), std::move(audience));
        return outcome(verifier,
                       token_of(std::string(R"({"exp":4e9)") + std::string(claims) + "}"));
    };
    constexpr std::string_view other_issuer = "the token has another issuer";
    constexpr std::string_view other_audience = "the token is for another audience";
    EXPECT_EQ(check("", "", ""), "good");
    EXPECT_EQ(check(R"(,"iss":"a")", "", ""), "good");
    EXPECT_EQ(check(R"(,"iss":"a")", "a", ""), "good");
    EXPECT_EQ(check(R"(,"iss":"b")", "a", ""), other_issuer);
    EXPECT_EQ(check("", "a", ""), other_issuer);
    EXPECT_EQ(check(R"(,"aud":"x")", "", "x"), "good");
    EXPECT_EQ(check(R"(,"aud":["w","x"])", "", "x"), "good");
    EXPECT_EQ(check(R"(,"aud":["w"])", "", "x"), other_audience);
    EXPECT_EQ(check(R"(,"aud":[])", "", "x"), other_audience);
    EXPECT_EQ(check("", "", "x"), other_audience);
    EXPECT_EQ(check(R"(,"aud":"x")", "", ""), other_audience) << "RFC 7519, 4.1.3";
    EXPECT_EQ(check(R"(,"aud":[])", "", ""), other_audience);
}

TEST(Verifier, OtherTextIsNoToken) {
    const Verifier verifier = verifier_of({secret_key});
    const std::string good = token_of(R"({"exp":4e9})");
    ASSERT_EQ(outcome(verifier, good), "good");
    const std::size_t first = good.find('.');
    const std::size_t last = good.rfind('.');
    for (const std::string& bad : std::vector<std::string>{
             "",
             ".",
             "..",
             "...",
             "a.b.c",
             good.substr(0, last),
             good + ".",
             good + ".a",
             "." + good,
             good + "=",
             good.substr(0, first) + "=" + good.substr(first),
             good + " ",
             good + "+",
             token_of("[]", "{}"),
             token_of("{}", "{}"),
             token_of("1", "{}"),
             token_of(R"({"alg":1})", "{}"),
             token_of(R"({"alg":"HS256","alg":"HS256"})", R"({"exp":4e9})"),
             token_of("[1]"),
             token_of("x"),
             token_of(""),
             token_of(R"({"exp":4e9,"exp":5e9})"),
             token_of(R"({"exp":"4e9"})"),
             token_of(R"({"exp":4e9,"nbf":""})"),
             token_of(R"({"exp":4e9,"sub":7})"),
             token_of(R"({"exp":4e9,"iss":[]})"),
             token_of(R"({"exp":4e9,"aud":7})"),
             token_of(R"({"exp":4e9,"aud":["a",7]})"),
             token_of("{\"exp\":4e9,\"sub\":\"\xff\"}"),
             token_of(R"({"exp":NaN})"),
             token_of("{\"exp\":4e9,\"a\":" + std::string(40, '[') + std::string(40, ']') + "}")}) {
        EXPECT_EQ(outcome(verifier, bad), "this is not a token") << bad;
    }
    for (std::size_t i = 0; i < good.size(); ++i) {
        std::string bad = good;
        bad[i] = bad[i] == 'A' ? 'B' : 'A';
        EXPECT_NE(outcome(verifier, bad), "good") << i;
        EXPECT_NE(outcome(verifier, good.substr(0, i)), "good") << i;
    }
}

TEST(Verifier, ATokenHasABound) {
    const Verifier verifier = verifier_of({secret_key});
    std::string claims = R"({"exp":4e9,"a":""})";
    std::string token = token_of(claims);
    while (token.size() <= Verifier::token_bytes_max) {
        EXPECT_EQ(outcome(verifier, token), "good");
        claims.insert(claims.size() - 2, 700, 'a');
        token = token_of(claims);
    }
    EXPECT_EQ(outcome(verifier, token), "the token is too long");
    EXPECT_EQ(outcome(verifier, std::string(10'000'000, '.')), "the token is too long");
}

TEST(Verifier, OptionsThatVerifyNothingAreRefused) {
    const auto why = [](Options options) {
        const auto made = Verifier::make(std::move(options));
        return made ? std::string("good") : made.error().message();
    };
    EXPECT_NE(why({}).find("a key is needed"), std::string::npos);
    EXPECT_NE(why({.keys = std::vector<Key>(17, secret_key)}).find("more than 16"),
              std::string::npos);
    EXPECT_EQ(why({.keys = std::vector<Key>(16, secret_key)}), "good");
    EXPECT_NE(why({.keys = {secret_key}, .leeway = -1s}).find("negative"), std::string::npos);
    EXPECT_NE(why({.keys = {secret_key, {Algorithm::rs256, "x", "r9"}}}).find("r9"),
              std::string::npos);
}

}  // namespace
}  // namespace tiderace::jwt
