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

// In the order of our preference: a client that offers both gets HTTP/2.
tls::ServerOptions with_protocols(tls::ServerOptions tls, const HttpOptions& options) {
    tls.protocols.clear();
    if (options.http2) tls.protocols.push_back("h2");
    if (options.http1) tls.protocols.push_back("http/1.1");
    // One time for all that comes before a request can be read (docs/https.md).
    tls.handshake_timeout = options.message.header_timeout;
    return tls;
}

}  // namespace

HttpLoop::Next::Next(const HttpOptions& of)
    : options(of), http1{of.message, of.head}, http2(http2_options(of)) {}

HttpLoop::HttpLoop(core::EventLoop& loop, http::SiteLoop& site, const HttpOptions& options)
    : loop_(&loop),
      site_(&site),
      options_(options),
      http1_(loop, site, {options.message, options.head}),
      http2_(loop, site, http2_options(options)) {
    choose_protocols();
}

// A connection that begins with HTTP/2's preface, in clear text, moves there (RFC 9113, 3.3).
void HttpLoop::choose_protocols() noexcept {
    options_.http2 ? http1_.set_http2(http2_) : http1_.forget_http2();
}

void HttpLoop::log_to(const LogFiles& files, const http::AccessLogTarget* usual) {
    logs_.emplace(files);
    const auto find = [this](const http::AccessLogTarget& target) { return logs_->find(target); };
    site_->set_log(usual == nullptr ? nullptr : find(*usual), find);
    loop_->every_turn_end([this] { logs_->publish(); });
}

Result<> HttpLoop::encrypt(tls::ServerOptions options) {
    auto context = tls::ServerContext::create(*loop_, with_protocols(std::move(options), options_));
    if (!context) return fail(context.error());
    tls_ = std::move(*context);
    return {};
}

Result<> HttpLoop::prepare(const HttpOptions& options, tls::ServerOptions tls) {
    next_.emplace(options);
    if (tls_ == nullptr) return {};
    return tls_->prepare(with_protocols(std::move(tls), options));
}

void HttpLoop::publish() noexcept {
    if (tls_ != nullptr) tls_->publish();
    options_ = std::move(next_->options);
    http1_.change(std::move(next_->http1));
    http2_.change(std::move(next_->http2));
    choose_protocols();
}

// HTTP/1 first, also over TLS: it hands over a connection whose ALPN, or preface, is HTTP/2's.
net::Session& HttpLoop::make_session(net::Connection& connection) {
    if (options_.http1) return http1_.make_session(connection);
    return http2_.make_session(connection);
}

}  // namespace tiderace::serve
