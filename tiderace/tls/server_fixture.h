// The fixture of the tests of a server and raw clients, beside its own certificates.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "tiderace/tls/raw_peer_fixture.h"
#include "tiderace/tls/tls_fixture.h"

namespace tiderace::tls {

class ServerTest : public TlsTest {
  protected:
    RawPeer raw(SSL_CTX* context) {
        if (!server_) serve();
        return {world_.loop(), reach(), context};
    }
    bool shakes_hands(RawPeer& client) {
        return run_until([&] { return client.pump(); });
    }
    bool is_refused(RawPeer& client) {
        return run_until([&] { return !client.pump() && client.reason() != 0; });
    }
    const net::TransportSecurity& security() { return *sessions_.connection->security(); }
    // The names of the certificate that a client is shown.
    std::string shown(const char* name, const char* signatures = nullptr) {
        const SslContextPtr context = raw_context();
        RawPeer client = raw(context.get());
        if (name != nullptr) SSL_set_tlsext_host_name(client.ssl(), name);
        if (signatures != nullptr) SSL_set1_sigalgs_list(client.ssl(), signatures);
        if (!shakes_hands(client)) return "(refused)";
        X509* leaf = SSL_get0_peer_certificate(client.ssl());
        char text[100];
        X509_NAME_get_text_by_NID(X509_get_subject_name(leaf), NID_commonName, text, sizeof text);
        return text;
    }
    std::uint64_t failures(HandshakeFailure why) { return context_->counters().failures(why); }
    CertificateFiles issue(const std::string& name, std::vector<std::string> names,
                           testing::KeyKind key = testing::KeyKind::p256) {
        return authority_.issue(folder_, name,
                                {.names = std::move(names), .common_name = name, .key = key});
    }
};

}  // namespace tiderace::tls
