// Internal. ServerContext: the server's side of TLS on one loop: certificates, tickets, and the
// layer that puts it on accepted connections.
//
//   auto context = tls::ServerContext::create(loop, {.certificates = {{"cert.pem", "key.pem"}}});
//   server.listen(std::move(socket), context->get());
//
// TLS 1.2 and 1.3 with AEAD ciphers only; no renegotiation, no compression, no early data. The
// certificate files are checked periodically: new connections use new certificates, a broken new
// file is logged once and the old ones stay. One that is not valid never replaces one that is.
//
// Owner    Its creator. It outlives every transport it wrapped, so the TcpServer too.
// Thread   Its loop's.
// Errors   create(): which file, which line, what was expected. It fails if client_ca cannot be
//          read, rather than serve without it.
// Limits   handshakes_per_turn_max, handshake_timeout (server_options.h). log_lines_per_second_max.
// Memory   About 150 KiB: the loop's buffers for all its TLS connections; a few dozen KiB a name.
// Keywords: ALPN, SNI, mTLS, client certificates, certificate reload, resumption
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "tiderace/base/result.h"
#include "tiderace/core/event_loop.h"
#include "tiderace/net/transport.h"
#include "tiderace/tls/handshake_counters.h"
#include "tiderace/tls/server_options.h"
#include "tiderace/tls/ticket_keys.h"

namespace tiderace::tls {

class CertificateSet;
class LoopParts;

class ServerContext final : public net::TransportLayer {
  public:
    static Result<std::unique_ptr<ServerContext>> create(core::EventLoop& loop,
                                                         ServerOptions options);
    ~ServerContext();

    std::unique_ptr<net::Transport> wrap(std::unique_ptr<net::Transport> below) TR_ON_LOOP override;

    enum class Reload : std::uint8_t {
        unchanged,
        reloaded,
        refused,  // the new files are broken: the old ones stay; last_refusal() has the reason
    };
    Reload reload_if_changed() TR_ON_LOOP;
    // Other files, rules for clients, protocols and time for handshakes; the rest of the options
    // stays. In two steps: what can fail, and what cannot.
    Result<> prepare(ServerOptions options) TR_ON_LOOP;
    void publish() TR_ON_LOOP;
    const std::string& last_refusal() const { return last_refusal_; }

    const HandshakeCounters& counters() const;
    // Faults of the loaded certificates, a line each: expired, not valid yet.
    std::vector<std::string> warnings() const;
    std::vector<CertificateEnd> certificate_ends() const;
    const ServerOptions& options() const { return options_; }

  private:
    class Endpoint;
    class ReloadTimer;
    struct Next;
    friend struct ServerCallbacks;

    ServerContext(core::EventLoop& loop, ServerOptions options);
    void look_for_changes() TR_ON_LOOP;
    void check_files() TR_ON_LOOP;
    void report_expired() TR_ON_LOOP;
    void fetch_ticket_keys() TR_ON_LOOP;
    Reload load_again() TR_ON_LOOP;

    core::EventLoop* loop_;
    ServerOptions options_;
    std::string alpn_;  // in the handshake's format: each name after its length
    std::shared_ptr<const TicketKeys> ticket_keys_;
    Instant ticket_look_{};  // when they are fetched again, with ServerOptions::tickets
    std::unique_ptr<LoopParts> parts_;
    std::unique_ptr<CertificateSet> certificates_;
    std::unique_ptr<Next> next_;  // prepared
    std::unique_ptr<Endpoint> endpoint_;
    std::unique_ptr<ReloadTimer> reload_timer_;
    // When a file that came too early is loaded once more; INT64_MAX: there is none.
    UnixSeconds better_from_ = INT64_MAX;
    std::string seen_files_;    // the files' status at the last check
    std::string loaded_files_;  // and when they were last loaded, or refused
    std::string last_refusal_;
    UnixSeconds reported_until_ = 0;  // certificates that ended before this were reported
    std::unique_ptr<Error> load_error_;
};

}  // namespace tiderace::tls
