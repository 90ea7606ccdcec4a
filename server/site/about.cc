#include "server/site/about.h"

#include "server/version.h"
#include "tiderace/net/transport.h"

namespace tiderace::server {

About::About(std::string_view engine, std::size_t loops) {
    json_.append("{\"version\":\"").append(version());
    json_.append("\",\"engine\":\"").append(engine);
    json_.append("\",\"loops\":").append(std::to_string(loops));
}

void About::handle(http::Exchange& exchange) {
    http::Response response(200);
    response.add(http::wire::FieldName::content_type, "application/json");
    // Its content changes with the connection and with the next start.
    response.add(http::wire::FieldName::cache_control, "no-store");
    std::string json = json_;
    // No escapes: names of engines, versions and ciphers are words of the libraries.
    if (const net::TransportSecurity* security = exchange.request().security) {
        json.append(",\"tls\":\"").append(security->version);
        json.append("\",\"cipher\":\"").append(security->cipher).append("\"");
    }
    response.set_body(json.append("}\n"));
    exchange.respond(response);
}

}  // namespace tiderace::server
