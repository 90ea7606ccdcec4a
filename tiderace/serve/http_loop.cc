#include "tiderace/serve/http_loop.h"

#include <utility>

namespace tiderace::serve {
namespace {

http::H2Options http2_options(const HttpOptions& options) {
    http::H2Options http2{options.message};
    http2.head = {.list_bytes_max = options.head.head_bytes_max,
                  .target_bytes_max = options.head.request_line_bytes_max,
                  .fields_max = options.head.fields_max,
                  .extended_connect = options.takes_websockets};
    http2.write_timeout = options.connection.write;
    http2.send_bytes_per_second_min = options.connection.send_bytes_per_second_min;
    return http2;
}

}  // namespace

HttpLoop::HttpLoop(core::EventLoop& loop, http::SiteLoop& site, const HttpOptions& options)
    : loop_(&loop),
      site_(&site),
      speaks_http1_(options.http1),
      handshake_timeout_(options.message.header_timeout),
      http1_(loop, site, {options.message, options.head}) {
    if (!options.http2) return;
    http2_.emplace(loop, site, http2_options(options));
    // A connection that begins with HTTP/2's preface, in clear text, moves there (RFC 9113, 3.3).
    http1_.set_http2(*http2_);
}

void HttpLoop::log_to(const LogFiles& files, const http::AccessLogTarget* usual) {
    logs_.emplace(files);
    const auto find = [this](const http::AccessLogTarget& target) { return logs_->find(target); };
    site_->set_log(usual == nullptr ? nullptr : find(*usual), find);
    loop_->every_turn_end([this] { logs_->publish(); });
}

Result<> HttpLoop::encrypt(tls::ServerOptions options) {
    // In the order of our preference: a client that offers both gets HTTP/2.
    options.protocols.clear();
    if (http2_) options.protocols.push_back("h2");
    if (speaks_http1_) options.protocols.push_back("http/1.1");
    // One time for all that comes before a request can be read (docs/https.md).
    options.handshake_timeout = handshake_timeout_;
    auto context = tls::ServerContext::create(*loop_, std::move(options));
    if (!context) return fail(context.error());
    tls_ = std::move(*context);
    return {};
}

// HTTP/1 first, also over TLS: it hands over a connection whose ALPN, or preface, is HTTP/2's.
net::SessionFactory& HttpLoop::sessions() {
    if (speaks_http1_) return http1_;
    return *http2_;
}

}  // namespace tiderace::serve
