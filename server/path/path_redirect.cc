#include "server/path/path_redirect.h"

#include <string_view>

#include "tiderace/http/exchange.h"
#include "tiderace/http/wire/bounded_text.h"
#include "tiderace/http/wire/percent.h"

namespace tiderace::server {

http::AccessRule::Verdict PathRedirect::check(http::Exchange& exchange) {
    const http::Request& request = exchange.request();
    // "OPTIONS *" asks for the server, which stays where it is.
    if (!request.path.starts_with('/')) return Verdict::pass;
    const std::string_view rest = request.path.substr(prefix_.size());
    std::string location = target_;
    // `rest` begins with '/', so "/" and "/a" would make "//a": an address of another server.
    if (!rest.empty() && location.ends_with('/')) location.pop_back();
    std::string encoded(3 * rest.size(), '\0');
    http::wire::BoundedText text(encoded);
    // The path is decoded (canonical_path.h): a line break in it would end the field.
    http::wire::append_path(text, rest);
    location += text.view();
    if (request.has_query) location.append("?").append(request.query);
    // Keeps the method and the body (RFC 9110, 15.4.9), as a path that has moved should.
    http::Response response(308);
    response.add(http::wire::FieldName::location, location);
    exchange.respond(response);
    return Verdict::answered;
}

}  // namespace tiderace::server
