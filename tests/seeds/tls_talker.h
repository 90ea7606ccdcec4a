// TlsTalker: OpenSSL alone as the client of a TLS server, over a FakePeer: its bytes are sealed,
// whatever faults the network has.
//
// Owner    A scenario; it goes before its world.
#pragma once

#include <memory>
#include <string>

#include "tiderace/testing/fake_peer.h"
#include "tiderace/tls/openssl.h"

namespace tiderace::testing {

class TlsTalker {
  public:
    TlsTalker(std::unique_ptr<FakePeer> peer, SSL_CTX* context, SSL_SESSION* session);

    FakePeer& peer() { return *peer_; }
    // Takes what has arrived and goes on. To be called as the world turns.
    void pump();
    // Once the handshake is done.
    void say(ByteView bytes);
    // close_notify and FIN, after all earlier bytes.
    void finish();

    bool established() const { return SSL_is_init_finished(ssl_.get()) == 1; }
    const std::string& heard() const { return heard_; }
    // The server's close_notify came.
    bool ended() const { return ended_; }
    bool resumed() const { return SSL_session_reused(ssl_.get()) == 1; }
    // For the next connection; the caller frees it.
    SSL_SESSION* session() { return SSL_get1_session(ssl_.get()); }

  private:
    void send_sealed();

    std::unique_ptr<FakePeer> peer_;
    tls::SslPtr ssl_;
    std::string to_say_;
    std::string heard_;
    std::size_t taken_ = 0;
    bool finishing_ = false;
    bool finished_ = false;
    bool ended_ = false;
};

}  // namespace tiderace::testing
