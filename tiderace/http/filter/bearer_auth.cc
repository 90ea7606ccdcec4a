#include "tiderace/http/filter/bearer_auth.h"

#include <algorithm>

#include "tiderace/base/ascii.h"
#include "tiderace/base/check.h"

namespace tiderace::http::filter {

ByteView bearer_token(ByteView authorization) {
    constexpr ByteView scheme = "Bearer ";
    if (!starts_with_ignoring_case(authorization, scheme)) return {};
    ByteView token = authorization.substr(scheme.size());
    while (token.starts_with(' ')) token.remove_prefix(1);
    // token68 (RFC 9110, 11.2): '=' stands at the end alone.
    const std::size_t end = std::min(token.find_last_not_of('=') + 1, token.size());
    const bool good = end > 0 && std::ranges::all_of(token.substr(0, end), [](char c) {
                          return is_letter_or_digit(c) || ByteView("-._~+/").contains(c);
                      });
    return good && token.size() <= BearerAuth::token_bytes_max ? token : ByteView{};
}

BearerAuth::BearerAuth(BearerAuthOptions options) : options_(std::move(options)) {
    TR_CHECK(options_.verify != nullptr, "BearerAuth needs a verify");
}

AccessRule::Verdict BearerAuth::check(Exchange& exchange) {
    const ByteView field = exchange.request().header(wire::FieldName::authorization);
    const ByteView token = bearer_token(field);
    if (!token.empty() && options_.verify(token)) return Verdict::pass;
    Response response(401);
    // RFC 6750 3.1: no error is named to one that sent no credentials.
    const std::string challenge = "Bearer realm=\"" + options_.realm + "\"" +
                                  (field.empty() ? "" : ", error=\"invalid_token\"");
    response.add(wire::FieldName::www_authenticate, challenge);
    if (!field.empty()) response.set_turned_away(wire::TurnedAway::credentials);
    exchange.respond(response);
    return Verdict::answered;
}

}  // namespace tiderace::http::filter
