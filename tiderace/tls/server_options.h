// ServerOptions: what a server's TLS is made of.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tiderace/base/units.h"

namespace tiderace::tls {

// PEM files. The certificate file begins with the server's own and goes on with its chain.
struct CertificateFiles {
    std::string certificate;
    std::string key;
    std::string ocsp = {};  // a DER response to staple; "": none

    bool operator==(const CertificateFiles&) const = default;
};

enum class ClientCertificates : std::uint8_t {
    off,       // not asked for
    optional,  // asked for; who has none may come in, who has a wrong one may not
    required,
};

struct ServerOptions {
    // Chosen by the name that the client asks for, `*.` names included; the first one serves the
    // rest. An RSA and an ECDSA certificate for the same name stand side by side.
    std::vector<CertificateFiles> certificates;
    // ALPN, in the server's order. A client that offers others only is refused. Empty: not spoken.
    std::vector<std::string> protocols{"h2", "http/1.1"};
    ClientCertificates client_certificates = ClientCertificates::off;
    std::string client_ca;  // PEM file of those who may sign them; needed unless off
    // From the first byte's wait to the last of the handshake.
    Duration handshake_timeout = 10s;
    // Steps of handshakes that one loop takes in a turn, after its established connections; what a
    // step costs is a signature, 50 µs (ECDSA) to 1 ms (RSA).
    std::size_t handshakes_per_turn_max = 8;
    // How often the files are looked at; zero: when reload_if_changed() is called only.
    Duration reload_check = 2s;
    // Whether this context puts reloads and broken files in the log. One of several loops is
    // enough.
    bool says_reloads = true;
    // Sent in clear text to who speaks plain HTTP here; "": nothing.
    std::string plain_http_answer =
        "HTTP/1.1 400 Bad Request\r\nContent-Type: text/plain; charset=utf-8\r\n"
        "Content-Length: 49\r\nConnection: close\r\n\r\n"
        "This port speaks HTTPS. Use https:// in the URL.\n";
};

}  // namespace tiderace::tls
