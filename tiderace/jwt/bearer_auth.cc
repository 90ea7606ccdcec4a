#include "tiderace/jwt/bearer_auth.h"

#include <memory>
#include <utility>

#include "tiderace/http/app/function_rule.h"
#include "tiderace/http/filter/bearer_auth.h"

namespace tiderace::jwt {
namespace {

using http::Response;

Response unauthorized(const std::string& realm, std::string_view why) {
    // RFC 6750, 3.1: no error is named to a client that sent no credentials.
    std::string challenge = "Bearer realm=\"" + realm + "\"";
    if (!why.empty()) {
        challenge += ", error=\"invalid_token\", error_description=\"";
        challenge += why;
        challenge += '"';
    }
    Response response(401);
    response.header("WWW-Authenticate", challenge);
    if (!why.empty()) response.set_turned_away(http::wire::TurnedAway::credentials);
    return response;
}

// The rule of one loop.
struct Rule {
    std::expected<Claims, Response> operator()(const http::Request& request,
                                               core::EventLoop& loop) const {
        const ByteView field = request.header(http::wire::FieldName::authorization);
        if (field.empty()) return std::unexpected(unauthorized(realm, ""));
        auto claims = verifier.verify(http::filter::bearer_token(field), loop.unix_now());
        if (!claims) return std::unexpected(unauthorized(realm, describe(claims.error())));
        return *std::move(claims);
    }
    Verifier verifier;
    std::string realm;
};

}  // namespace

http::Middleware bearer_auth(Options options, std::string realm) {
    http::Middleware made(http::Middleware::Make(
        [options = std::move(options), realm = std::move(realm)](http::LayerPlace& place) {
            auto verifier = Verifier::make(options);
            if (!verifier) {
                place.refuse(verifier.error());
                return http::Layer();
            }
            using One = http::app_parts::FunctionRule<Rule>;
            auto rule = std::make_shared<const Rule>(*std::move(verifier), realm);
            return http::Layer(std::make_shared<One>(std::move(rule), place));
        }));
    made.leaves = http::state_key<Claims>;
    return std::move(made).noted({.refusals = {401}, .security = "bearer"});
}

}  // namespace tiderace::jwt
