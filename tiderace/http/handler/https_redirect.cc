#include "tiderace/http/handler/https_redirect.h"

#include <algorithm>

#include "tiderace/http/exchange.h"
#include "tiderace/http/wire/host.h"

namespace tiderace::http::handler {
namespace {

using wire::FieldName;

// How long a browser may answer for us without asking: long enough to save requests, short enough
// that a port which stops redirecting is found again.
constexpr ByteView trusted_for = "max-age=3600";

bool is_name_character(char c) {
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '-' ||
           c == '.' || c == '_';
}

// The host of an authority, with the brackets of an IPv6 address; "" where a Location had better
// not repeat it. Stricter than a URL: no percent signs, no marks.
ByteView host_of(ByteView authority) {
    if (!wire::valid_host(authority)) return {};
    if (authority.starts_with('[')) return authority.substr(0, authority.find(']') + 1);
    const ByteView host = authority.substr(0, authority.rfind(':'));
    return std::ranges::all_of(host, is_name_character) ? host : ByteView{};
}

}  // namespace

HttpsRedirect::HttpsRedirect(std::uint16_t port, Handler& answers_challenges)
    : port_(port == 443 ? "" : ":" + std::to_string(port)),
      answers_challenges_(&answers_challenges) {}

void HttpsRedirect::handle(Exchange& exchange) {
    const Request& request = exchange.request();
    if (request.path.starts_with(challenges)) {
        answers_challenges_->handle(exchange);
        return;
    }
    const ByteView host = host_of(request.authority);
    if (host.empty() || !request.raw_path.starts_with('/')) {
        exchange.respond_status(400);
        return;
    }
    std::string location("https://");
    location.append(host).append(port_).append(request.raw_path);
    if (request.has_query) location.append("?").append(request.query);
    Response response(308);
    response.add(FieldName::location, location);
    response.add(FieldName::cache_control, trusted_for);
    exchange.respond(response);
}

}  // namespace tiderace::http::handler
