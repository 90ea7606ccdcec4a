#include "tests/seeds/tls_talker.h"

#include <openssl/err.h>

#include <utility>

namespace tiderace::testing {

TlsTalker::TlsTalker(std::unique_ptr<FakePeer> peer, SSL_CTX* context, SSL_SESSION* session)
    : peer_(std::move(peer)), ssl_(SSL_new(context)) {
    SSL_set_bio(ssl_.get(), BIO_new(BIO_s_mem()), BIO_new(BIO_s_mem()));
    SSL_set_connect_state(ssl_.get());
    if (session != nullptr) {
        // One of its own: an SSL that ends badly spoils the session it has.
        const tls::SslSessionPtr own(SSL_SESSION_dup(session));
        SSL_set_session(ssl_.get(), own.get());
    }
    pump();
}

void TlsTalker::pump() {
    const std::string& arrived = peer_->heard();
    if (arrived.size() > taken_) {
        BIO_write(SSL_get_rbio(ssl_.get()), arrived.data() + taken_,
                  static_cast<int>(arrived.size() - taken_));
        taken_ = arrived.size();
    }
    ERR_clear_error();
    int outcome = SSL_do_handshake(ssl_.get());
    char block[16'384];
    while (outcome == 1) {
        const int got = SSL_read(ssl_.get(), block, sizeof block);
        if (got <= 0) {
            ended_ = ended_ || SSL_get_error(ssl_.get(), got) == SSL_ERROR_ZERO_RETURN;
            break;
        }
        heard_.append(block, static_cast<std::size_t>(got));
    }
    if (outcome == 1 && !to_say_.empty()) {
        SSL_write(ssl_.get(), to_say_.data(), static_cast<int>(to_say_.size()));
        to_say_.clear();
    }
    const bool ends = outcome == 1 && finishing_ && !std::exchange(finished_, true);
    if (ends) SSL_shutdown(ssl_.get());
    ERR_clear_error();
    send_sealed();
    if (ends) peer_->finish();
}

void TlsTalker::send_sealed() {
    char block[16'384];
    for (int got = 0; (got = BIO_read(SSL_get_wbio(ssl_.get()), block, sizeof block)) > 0;) {
        peer_->say({block, static_cast<std::size_t>(got)});
    }
}

void TlsTalker::say(ByteView bytes) {
    to_say_ += bytes;
    pump();
}

void TlsTalker::finish() {
    finishing_ = true;
    pump();
}

}  // namespace tiderace::testing
