#include "server/site/canonical_host.h"

#include "tiderace/base/ascii.h"
#include "tiderace/http/wire/host.h"

namespace tiderace::server {

std::optional<std::string> CanonicalHost::location(const http::Request& request) const {
    const ByteView host = http::wire::host_without_port(request.authority);
    // Without a name (HTTP/1.0), or where no path can follow it, there is nothing to lead to.
    if (equals_ignoring_case(host, host_) || host.empty() || !request.raw_path.starts_with('/')) {
        return std::nullopt;
    }
    const std::size_t colon = request.authority.rfind(':');
    const bool has_port = colon != request.authority.npos && colon >= host.size();
    std::string location(request.secure ? "https://" : "http://");
    location.append(host_);
    if (has_port) location.append(request.authority.substr(colon));
    location.append(request.raw_path);
    if (request.has_query) location.append("?").append(request.query);
    return location;
}

http::AccessRule::Verdict CanonicalHost::check(http::Exchange& exchange) {
    auto found = location(exchange.request());
    if (!found) return Verdict::pass;
    http::Response response(308);
    response.add(http::wire::FieldName::location, response.keep(std::move(*found)));
    exchange.respond(response);
    return Verdict::answered;
}

}  // namespace tiderace::server
