#include "tiderace/jwt/verifier.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <optional>
#include <utility>

#include "tiderace/base/base64.h"
#include "tiderace/json.h"
#include "tiderace/jwt/public_key.h"

namespace tiderace::jwt {
namespace {

constexpr json::Options header_limits{
    .size_bytes_max = Verifier::token_bytes_max, .depth_max = 8, .elements_max = 256};
constexpr json::Options claims_limits{
    .size_bytes_max = Verifier::token_bytes_max, .depth_max = 16, .elements_max = 4'096};

// As RFC 7515, 2 has it: '-' and '_', and no padding.
std::optional<std::string> read_base64url(std::string_view text) {
    if (text.find_first_of("+/=") != text.npos) return std::nullopt;
    std::string standard(text);
    std::ranges::replace(standard, '-', '+');
    std::ranges::replace(standard, '_', '/');
    standard.resize((standard.size() + 3) / 4 * 4, '=');
    return read_base64(standard);
}

// "a.b.c"; nullopt: another number of parts.
std::optional<std::array<std::string_view, 3>> parts_of(std::string_view token) {
    const std::size_t first = token.find('.');
    const std::size_t last = token.rfind('.');
    if (first == token.npos || first == last) return std::nullopt;
    const std::string_view middle = token.substr(first + 1, last - first - 1);
    if (middle.contains('.')) return std::nullopt;
    return std::array{token.substr(0, first), middle, token.substr(last + 1)};
}

// A JSON object in base64url.
std::optional<json::Value> read_part(std::string_view part, const json::Options& limits) {
    const auto text = read_base64url(part);
    if (!text) return std::nullopt;
    auto value = json::read<json::Value>(*text, limits);
    if (!value || value->object() == nullptr) return std::nullopt;
    return *std::move(value);
}

std::optional<Algorithm> algorithm_named(std::string_view name) {
    if (name == "HS256") return Algorithm::hs256;
    if (name == "RS256") return Algorithm::rs256;
    if (name == "ES256") return Algorithm::es256;
    if (name == "EdDSA") return Algorithm::eddsa;
    return std::nullopt;
}

bool is_text_or_absent(const json::Value& value) {
    return value.is_null() || value.string() != nullptr;
}
// NumericDate: seconds, perhaps with a fraction.
bool is_number_or_absent(const json::Value& value) {
    return value.is_null() || value.as<double>().has_value();
}

// Claims of RFC 7519, 4.1 that have a type which they may not have.
bool has_wrong_type(const json::Value& claims) {
    const json::Value& audience = claims["aud"];
    const json::Array* const several = audience.array();
    const bool good_audience =
        several != nullptr
            ? std::ranges::all_of(*several, [](const auto& one) { return one.string() != nullptr; })
            : is_text_or_absent(audience);
    return !good_audience || !is_text_or_absent(claims["iss"]) ||
           !is_text_or_absent(claims["sub"]) || !is_text_or_absent(claims["jti"]) ||
           !is_number_or_absent(claims["exp"]) || !is_number_or_absent(claims["nbf"]) ||
           !is_number_or_absent(claims["iat"]);
}

bool is_for(const json::Value& audience, std::string_view name) {
    if (name.empty()) return audience.is_null();
    if (const std::string* const one = audience.string()) return *one == name;
    const json::Array* const several = audience.array();
    return several != nullptr && std::ranges::any_of(*several, [&](const json::Value& one) {
               return *one.string() == name;
           });
}

// In the range of what a double holds exactly; -1 before, which is in 1969.
UnixSeconds whole_seconds(double date) {
    constexpr double most = 9'007'199'254'740'992;  // 2^53
    return static_cast<UnixSeconds>(std::clamp(date, -1.0, most));
}

}  // namespace

std::string_view describe(Refusal refusal) {
    switch (refusal) {
        case Refusal::too_long:
            return "the token is too long";
        case Refusal::malformed:
            return "this is not a token";
        case Refusal::algorithm:
            return "the token's algorithm is not accepted";
        case Refusal::key:
            return "the token's key is not known";
        case Refusal::signature:
            return "the token's signature is wrong";
        case Refusal::no_expiry:
            return "the token does not expire";
        case Refusal::expired:
            return "the token has expired";
        case Refusal::early:
            return "the token is not valid yet";
        case Refusal::issuer:
            return "the token has another issuer";
        case Refusal::audience:
            return "the token is for another audience";
    }
    return "";
}

class Verifier::State {
  public:
    std::expected<Claims, Refusal> verify(std::string_view token, UnixSeconds now) const;

    std::vector<PublicKey> keys;
    std::string issuer;
    std::string audience;
    double leeway = 0;  // seconds

  private:
    std::optional<Refusal> check_signature(const json::Value& header, std::string_view text,
                                           std::string_view signature) const;
    std::optional<Refusal> check_claims(const json::Value& claims, UnixSeconds now) const;
};

std::optional<Refusal> Verifier::State::check_signature(const json::Value& header,
                                                        std::string_view text,
                                                        std::string_view signature) const {
    const std::string* const name = header["alg"].string();
    if (name == nullptr || !is_text_or_absent(header["kid"])) return Refusal::malformed;
    const auto algorithm = algorithm_named(*name);
    if (!algorithm || header.object()->contains("crit")) return Refusal::algorithm;
    const std::string* const id = header["kid"].string();
    Refusal why = Refusal::algorithm;
    for (const PublicKey& key : keys) {
        if (key.algorithm() != *algorithm) continue;
        if (why == Refusal::algorithm) why = Refusal::key;
        if (id != nullptr && !key.id().empty() && key.id() != *id) continue;
        why = Refusal::signature;
        if (key.verify(text, signature)) return std::nullopt;
    }
    return why;
}

std::optional<Refusal> Verifier::State::check_claims(const json::Value& claims,
                                                     UnixSeconds now) const {
    if (has_wrong_type(claims)) return Refusal::malformed;
    const auto expires = claims["exp"].as<double>();
    if (!expires) return Refusal::no_expiry;
    const auto at = static_cast<double>(now);
    // "on or after" is too late (RFC 7519, 4.1.4).
    if (at >= *expires + leeway) return Refusal::expired;
    if (at + leeway < claims["nbf"].as<double>().value_or(at)) return Refusal::early;
    if (!issuer.empty() && claims["iss"] != json::Value(issuer)) return Refusal::issuer;
    if (!is_for(claims["aud"], audience)) return Refusal::audience;
    return std::nullopt;
}

std::expected<Claims, Refusal> Verifier::State::verify(std::string_view token,
                                                       UnixSeconds now) const {
    if (token.size() > token_bytes_max) return std::unexpected(Refusal::too_long);
    const auto parts = parts_of(token);
    if (!parts) return std::unexpected(Refusal::malformed);
    const auto& [head, body, sealed] = *parts;
    const auto header = read_part(head, header_limits);
    const auto signature = read_base64url(sealed);
    if (!header || !signature) return std::unexpected(Refusal::malformed);
    const std::string_view text = token.substr(0, head.size() + 1 + body.size());
    if (const auto why = check_signature(*header, text, *signature)) return std::unexpected(*why);
    auto claims = read_part(body, claims_limits);
    if (!claims) return std::unexpected(Refusal::malformed);
    if (const auto why = check_claims(*claims, now)) return std::unexpected(*why);
    return Claims{.subject = (*claims)["sub"].as<std::string>().value_or(""),
                  .expires = whole_seconds(*(*claims)["exp"].as<double>()),
                  .all = *std::move(claims)};
}

Verifier::Verifier(std::shared_ptr<const State> state) : state_(std::move(state)) {}

Result<Verifier> Verifier::make(Options options) {
    const auto refuse = [](std::string_view why) {
        return fail(Error(0, "verify tokens", "options", why));
    };
    if (options.keys.empty()) return refuse("a key is needed");
    if (options.keys.size() > keys_max) return refuse("there are more than 16 keys");
    if (options.leeway < Duration::zero()) return refuse("the leeway is negative");
    auto state = std::make_shared<State>();
    for (const Key& key : options.keys) {
        auto made = PublicKey::make(key);
        if (!made) return fail(made.error());
        state->keys.push_back(*std::move(made));
    }
    state->issuer = std::move(options.issuer);
    state->audience = std::move(options.audience);
    state->leeway = std::chrono::duration<double>(options.leeway).count();
    return Verifier(std::move(state));
}

std::expected<Claims, Refusal> Verifier::verify(std::string_view token, UnixSeconds now) const {
    return state_->verify(token, now);
}

}  // namespace tiderace::jwt
