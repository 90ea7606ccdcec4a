// Internal. HttpLoop: what one loop needs to speak HTTP for a site: the protocols, TLS, the site's
// logs. App::serve and `tiderace serve` both serve with it.
//
//   TcpServer -> sessions() -> H1Service, H2Service -> SiteLoop -> logs
//            '-> encryption()
//
// Owner    What serves the site on the loop; ends after the loop's connections and before the site.
// Thread   The loop's.
// Errors   encrypt(): a certificate that cannot be read.
// Limits   HttpOptions.
#pragma once

#include <memory>
#include <optional>

#include "tiderace/base/result.h"
#include "tiderace/core/event_loop.h"
#include "tiderace/http/h1/service.h"
#include "tiderace/http/h2/service.h"
#include "tiderace/http/site_loop.h"
#include "tiderace/net/connection_limits.h"
#include "tiderace/net/tcp_server.h"
#include "tiderace/serve/log_files.h"
#include "tiderace/tls/server_context.h"

namespace tiderace::serve {

struct HttpOptions {
    http::MessageOptions message = {};
    http::wire::HeadLimits head = {};
    net::ConnectionLimits connection = {};
    // At least one of them. Both: a client chooses by ALPN, or by HTTP/2's preface.
    bool http1 = true;
    bool http2 = true;
    bool takes_websockets = false;  // HTTP/2 announces extended CONNECT (RFC 8441)
};

class HttpLoop final : private net::SessionFactory {
  public:
    HttpLoop(core::EventLoop& loop, http::SiteLoop& site, const HttpOptions& options);

    // `usual` is the log of scopes that name none; nullptr: they have none. All are open.
    void log_to(const LogFiles& files, const http::AccessLogTarget* usual);
    // All logs but these, which no scope names any more.
    void forget_logs_but(std::span<const std::string> paths) {
        if (logs_) logs_->forget_all_but(paths);
    }
    // The names of the protocols, and the time for a handshake, are of HttpOptions.
    Result<> encrypt(tls::ServerOptions options);
    // Other options, for what begins from now on: in two steps, what can fail, and what cannot.
    // `tls` counts where it encrypts.
    Result<> prepare(const HttpOptions& options, tls::ServerOptions tls);
    void publish() noexcept;

    // The protocol of new connections.
    net::SessionFactory& sessions() { return *this; }
    tls::ServerContext* encryption() { return tls_.get(); }  // nullptr: clear text
    const http::H2Counters& http2_counters() { return http2_.counters(); }

  private:
    // Prepared.
    struct Next {
        explicit Next(const HttpOptions& of);

        HttpOptions options;
        http::H1Options http1;
        http::H2Options http2;
    };

    net::Session& make_session(net::Connection& connection) override;
    void choose_protocols() noexcept;

    core::EventLoop* loop_;
    http::SiteLoop* site_;
    HttpOptions options_;
    std::optional<Next> next_;
    std::optional<AccessLogs> logs_;
    std::unique_ptr<tls::ServerContext> tls_;
    http::H1Service http1_;
    http::H2Service http2_;
};

}  // namespace tiderace::serve
