#include "tiderace/http/filter/request_id.h"

namespace tiderace::http::filter {

AccessRule::Verdict RequestId::check(Exchange& exchange) {
    if (trust_client_) exchange.trust_request_id();
    return Verdict::pass;
}

void RequestId::filter(Exchange& exchange, Response& response) {
    response.set(wire::FieldName::x_request_id, response.keep(exchange.request().id()));
}

}  // namespace tiderace::http::filter
