// RawPeer: OpenSSL alone, with its own buffers, as the peer of this room's server, or of its client
// (with a context of TLS_server_method). The test drives it: any version, any cipher, any alert.
#pragma once

#include <openssl/err.h>

#include <memory>
#include <string>
#include <utility>

#include "tiderace/testing/transport_peer.h"
#include "tiderace/tls/openssl.h"
#include "tiderace/tls/records.h"

namespace tiderace::tls {

class RawPeer {
  public:
    // `session`: to be resumed, as a client.
    RawPeer(core::EventLoop& loop, std::unique_ptr<net::Transport> below, SSL_CTX* context,
            SSL_SESSION* session = nullptr)
        : ssl_(SSL_new(context)), below_(loop, std::move(below)) {
        SSL_is_server(ssl_.get()) == 1 ? SSL_set_accept_state(ssl_.get())
                                       : SSL_set_connect_state(ssl_.get());
        if (session != nullptr) SSL_set_session(ssl_.get(), session);
        SSL_set_bio(ssl_.get(), BIO_new(BIO_s_mem()), BIO_new(BIO_s_mem()));
    }

    SSL* ssl() { return ssl_.get(); }
    testing::TransportPeer& below() { return below_; }

    // Takes what has arrived, goes on with the handshake, reads, and says what comes of it. True
    // once the handshake is done.
    bool pump() {
        const std::string& heard = below_.heard();
        if (heard.size() > taken_) {
            BIO_write(SSL_get_rbio(ssl_.get()), heard.data() + taken_,
                      static_cast<int>(heard.size() - taken_));
            taken_ = heard.size();
        }
        ERR_clear_error();
        int done = SSL_do_handshake(ssl_.get());
        char block[16'384];
        while (done == 1) {
            const int got = SSL_read(ssl_.get(), block, sizeof block);
            if (got <= 0) {
                note(got);
                break;
            }
            plain_.append(block, static_cast<std::size_t>(got));
        }
        if (done != 1) note(done);
        flush();
        return SSL_is_init_finished(ssl_.get()) == 1;
    }
    void say(ByteView bytes) {
        SSL_write(ssl_.get(), bytes.data(), static_cast<int>(bytes.size()));
        flush();
    }
    void end() {
        SSL_shutdown(ssl_.get());
        flush();
    }
    // Sends what the SSL wrote; nothing beyond `bytes_max` and `records_max` in all.
    void flush() {
        char block[16'384];
        for (int got = 0; (got = BIO_read(SSL_get_wbio(ssl_.get()), block, sizeof block)) > 0;) {
            written_.append(block, static_cast<std::size_t>(got));
        }
        const std::size_t end = std::min({written_.size(), bytes_max, first_records(records_max)});
        if (end <= said_) return;
        below_.say(ByteView(written_).substr(said_, end - said_));
        said_ = end;
    }
    // Bytes of the first `count` records that the SSL wrote.
    std::size_t first_records(std::size_t count) const {
        std::size_t end = 0;
        for (; count > 0 && end < written_.size(); --count) {
            end += declared_bytes(ByteView(written_).substr(end));
        }
        return std::min(end, written_.size());
    }

    const std::string& plain() const { return plain_; }
    const std::string& heard_below() const { return below_.heard(); }
    bool ended() const { return ended_; }
    // OpenSSL's reason for what went wrong, 0: nothing did.
    int reason() const { return reason_; }
    std::size_t said() const { return said_; }

    std::size_t bytes_max = SIZE_MAX;
    std::size_t records_max = SIZE_MAX;

  private:
    void note(int outcome) {
        const int error = SSL_get_error(ssl_.get(), outcome);
        ended_ = ended_ || error == SSL_ERROR_ZERO_RETURN;
        if (error == SSL_ERROR_SSL && reason_ == 0) reason_ = take_tls_fault().reason;
    }

    SslPtr ssl_;
    testing::TransportPeer below_;
    std::string plain_;
    std::string written_;
    std::size_t taken_ = 0;
    std::size_t said_ = 0;
    int reason_ = 0;
    bool ended_ = false;
};

inline SslContextPtr raw_context(int version_min = TLS1_2_VERSION,
                                 int version_max = TLS1_3_VERSION) {
    SslContextPtr context(SSL_CTX_new(TLS_client_method()));
    SSL_CTX_set_security_level(context.get(), 0);
    SSL_CTX_set_min_proto_version(context.get(), version_min);
    SSL_CTX_set_max_proto_version(context.get(), version_max);
    return context;
}

}  // namespace tiderace::tls
