// Verifier: JSON Web Tokens (RFC 7519) that others have signed (RFC 7515), checked.
//
//   const auto verifier = jwt::Verifier::make({
//       .keys = {{.algorithm = jwt::Algorithm::es256, .text = public_key_pem, .id = "2026-11"}},
//       .issuer = "https://login.example.org", .audience = "shop"});
//   const auto claims = verifier->verify(token, unix_now);
//   if (!claims) return std::string(jwt::describe(claims.error()));    // "the token has expired"
//   claims->all["scope"].as<std::string>()
//
//   token -> size -> header: algorithm, key's id -> key -> signature -> claims -> times, names
//
// Each key has one algorithm, which the program names. A token's own `alg` only has to be the same:
// "none" is no algorithm, and a public key is never the secret of an HMAC. No claim is read before
// the signature is good. Headers that change the meaning of others (`crit`) are refused.
//
// Owner    A value. The keys are OpenSSL's, which other copies share.
// Thread   Any, at once: constant. Copies of other loops would write one count of references, so
//          each loop makes a Verifier (jwt::bearer_auth does).
// Errors   Refusal, the token's fault. make(): keys or options that are none, as an Error.
// Limits   token_bytes_max, keys_max. RSA keys have 2,048 to 8,192 bits, secrets 32 bytes or more.
// Keywords: JWT, JWS, JOSE, HS256, RS256, ES256, EdDSA, OpenID Connect, access token
#pragma once

#include <cstddef>
#include <cstdint>
#include <expected>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "tiderace/base/result.h"
#include "tiderace/base/units.h"
#include "tiderace/json/value.h"

namespace tiderace::jwt {

// HMAC with SHA-256; RSA (PKCS #1 v1.5) with SHA-256; ECDSA over P-256 with SHA-256; Ed25519.
enum class Algorithm : std::uint8_t { hs256, rs256, es256, eddsa };

struct Key {
    Algorithm algorithm;
    std::string text;     // hs256: the secret's bytes; else the public key in PEM
    std::string id = {};  // only for tokens with this `kid`, or without one; "": for all
};

struct Options {
    std::vector<Key> keys;
    std::string issuer = {};    // `iss`; "": any
    std::string audience = {};  // one of `aud`; "": tokens for somebody (with an `aud`) are refused
    Duration leeway = 30s;      // by which the clock of the issuer may differ
};

struct Claims {
    std::string subject;      // `sub`; "": none
    UnixSeconds expires = 0;  // `exp`, which each token needs
    json::Value all;          // an object
};

enum class Refusal : std::uint8_t {
    too_long,
    malformed,  // no JWT, or a claim of another type than RFC 7519 gives it
    algorithm,  // no key has it; "none"; a `crit` header
    key,        // no key of the algorithm has this id
    signature,
    no_expiry,
    expired,  // `exp`
    early,    // `nbf`
    issuer,
    audience,
};
// "the token has expired", say.
std::string_view describe(Refusal refusal);

class Verifier final {
  public:
    static constexpr std::size_t token_bytes_max = 8'192;
    static constexpr std::size_t keys_max = 16;

    static Result<Verifier> make(Options options);

    std::expected<Claims, Refusal> verify(std::string_view token, UnixSeconds now) const;

  private:
    class State;

    explicit Verifier(std::shared_ptr<const State> state);

    std::shared_ptr<const State> state_;
};

}  // namespace tiderace::jwt
