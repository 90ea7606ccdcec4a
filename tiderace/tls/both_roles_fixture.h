// BothRolesTest: our side of a connection, as its server or as its client, and OpenSSL alone as the
// other.
#pragma once

#include <memory>
#include <string>

#include "tiderace/tls/raw_peer_fixture.h"
#include "tiderace/tls/tls_fixture.h"

namespace tiderace::tls {

enum class Role : std::uint8_t { server, client };  // ours

class BothRolesTest : public TlsTest {
  protected:
    // Both sides of meet()'s connection. The client shows its certificate if `asks`.
    void prepare(Role role, int version, bool asks = false) {
        role_ = role;
        ServerOptions options = server_options();
        const std::string ca = authority_.write(folder_, "ca.pem");
        if (asks) {
            options.client_certificates = ClientCertificates::required;
            options.client_ca = ca;
        }
        serve(options);
        ClientOptions of_client = client_options();
        of_client.certificate = files_;
        of_client.resume = resumes_;
        trust(of_client);
        raw_context_ = raw_context(version, version);
        if (role == Role::client) {
            raw_context_.reset(SSL_CTX_new(TLS_server_method()));
            SSL_CTX_set_min_proto_version(raw_context_.get(), version);
            SSL_CTX_set_max_proto_version(raw_context_.get(), version);
        }
        SSL_CTX_use_certificate_chain_file(raw_context_.get(), files_.certificate.c_str());
        SSL_CTX_use_PrivateKey_file(raw_context_.get(), files_.key.c_str(), SSL_FILETYPE_PEM);
        SSL_CTX_load_verify_file(raw_context_.get(), ca.c_str());
        if (asks && role == Role::client) {
            SSL_CTX_set_verify(raw_context_.get(),
                               SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT, nullptr);
        }
    }
    // A new connection; OpenSSL's side of it.
    RawPeer meet() {
        if (role_ == Role::server) {
            return {world_.loop(), reach(), raw_context_.get(), session_.get()};
        }
        auto pipe = testing::make_pipe(world_.loop());
        ours_ = std::make_unique<testing::TransportPeer>(
            world_.loop(), client_->wrap(std::move(pipe.near), "localhost"));
        return {world_.loop(), std::move(pipe.far), raw_context_.get()};
    }
    const HandshakeCounters& counters() {
        return role_ == Role::server ? context_->counters() : client_->counters();
    }
    // Our side heard this.
    const std::string& heard() {
        return role_ == Role::server ? sessions_.received : ours_->heard();
    }

    Role role_ = Role::server;
    bool resumes_ = false;  // offered by our client; set before prepare()
    SslContextPtr raw_context_;
    std::unique_ptr<testing::TransportPeer> ours_;  // as the client
    // The session that the other side resumes from here on.
    SslSessionPtr session_;
};

}  // namespace tiderace::tls
