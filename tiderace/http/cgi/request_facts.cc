#include "tiderace/http/cgi/request_facts.h"

#include <utility>

#include "tiderace/core/address.h"
#include "tiderace/http/filter/basic_credentials.h"

namespace tiderace::http::cgi {

RequestTexts::RequestTexts(const Request& request, bool authenticated) {
    facts.head = request.head;
    facts.method = request.head->method_text();
    facts.protocol = to_string(request.version);
    facts.authority = request.authority;
    facts.secure = request.secure;
    facts.query = request.query;
    request_uri_ = request.raw_path;
    if (request.has_query) request_uri_.append("?").append(request.query);
    facts.request_uri = request_uri_;
    if (request.peer != nullptr) {
        facts.remote_address = ByteView(address_.data(), request.peer->format_ip(address_.data()));
        facts.remote_port = request.peer->port();
    }
    // A client may send any credentials; only those that the server itself has checked name a user.
    if (!authenticated) return;
    const ByteView given = request.field(wire::FieldName::authorization);
    if (auto credentials = filter::parse_basic_credentials(given)) {
        user_ = std::move(credentials->user);
        facts.remote_user = user_;
    }
}

}  // namespace tiderace::http::cgi
