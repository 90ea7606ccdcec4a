#include "tiderace/http/cgi/request_facts.h"

#include <functional>
#include <utility>

#include "tiderace/core/address.h"
#include "tiderace/http/filter/basic_credentials.h"

namespace tiderace::http::cgi {

namespace {

// From the path to the target's end; "": the path is no part of it.
ByteView rest_of_target(const Request& request) {
    const ByteView target = request.head->target();
    const ByteView path = request.raw_path;
    // Pointers into other memory are ordered by std::less only.
    if (std::less<>()(path.data(), target.data()) ||
        !std::less<>()(path.data(), target.data() + target.size())) {
        return {};
    }
    return target.substr(static_cast<std::size_t>(path.data() - target.data()));
}

}  // namespace

RequestTexts::RequestTexts(const Request& request, bool authenticated) {
    facts.head = request.head;
    facts.method = request.head->method_text();
    facts.protocol = to_string(request.version);
    facts.authority = request.authority;
    facts.secure = request.secure;
    facts.query = request.query;
    facts.request_uri = rest_of_target(request);
    if (facts.request_uri.empty()) join_request_uri(request);
    if (request.peer != nullptr) {
        facts.remote_address = ByteView(address_.data(), request.peer->format_ip(address_.data()));
        facts.remote_port = request.peer->port();
    }
    // A client may send any credentials; only credentials that the server itself has checked name a
    // user.
    if (authenticated) take_user(request);
}

// "http://host?x" has no path of its own.
void RequestTexts::join_request_uri(const Request& request) {
    request_uri_ = request.raw_path;
    if (request.has_query) request_uri_.append("?").append(request.query);
    facts.request_uri = request_uri_;
}

void RequestTexts::take_user(const Request& request) {
    const ByteView given = request.header(wire::FieldName::authorization);
    if (auto credentials = filter::parse_basic_credentials(given)) {
        user_ = std::move(credentials->user);
        facts.remote_user = user_;
    }
}

}  // namespace tiderace::http::cgi
