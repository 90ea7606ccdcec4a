// Internal. ServerOptions: configuration of a server's TLS.
// Keywords: mTLS, client certificates, TLS 1.2
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "tiderace/base/units.h"

namespace tiderace::tls {

// PEM files. The certificate file begins with the server's own and goes on with its chain.
struct CertificateFiles {
    std::string certificate;
    std::string key;

    bool operator==(const CertificateFiles&) const = default;
};

// Until when the certificate of a file is valid.
struct CertificateEnd {
    std::string file;
    UnixSeconds ends;
};

class TicketShare;  // ticket_keys.h

enum class ClientCertificates : std::uint8_t {
    off,       // not requested
    optional,  // requested; none is accepted, an invalid one is not
    required,
};

struct ServerOptions {
    // Chosen by the requested name, `*.` names included; the first one serves all other names. An
    // RSA and an ECDSA certificate for the same name may both be given.
    std::vector<CertificateFiles> certificates;
    // ALPN, in the server's order. A client that offers only others is refused. Empty: no ALPN.
    std::vector<std::string> protocols{"h2", "http/1.1"};
    ClientCertificates client_certificates = ClientCertificates::off;
    std::string client_ca;  // PEM file of the authorities that sign them; needed unless off
    // From the wait for the first byte to the end of the handshake.
    Duration handshake_timeout = 10s;
    // Steps of handshakes that one loop takes in a turn, after its established connections; a step
    // costs a signature, 50 µs (ECDSA) to 1 ms (RSA).
    std::size_t handshakes_per_turn_max = 8;
    // How often the files are checked; zero: only when reload_if_changed() is called.
    Duration reload_check = 2s;
    // Whether this context logs reloads and broken files. One of several loops is enough.
    bool says_reloads = true;
    // Keys for tickets, from which all contexts of a server resume each other's sessions. nullptr:
    // keys of this context's own, which are never replaced.
    std::shared_ptr<TicketShare> tickets = nullptr;
    // Sent in clear text to clients that speak plain HTTP here; "": nothing.
    std::string plain_http_answer =
        "HTTP/1.1 400 Bad Request\r\nContent-Type: text/plain; charset=utf-8\r\n"
        "Content-Length: 49\r\nConnection: close\r\n\r\n"
        "This port speaks HTTPS. Use https:// in the URL.\n";
};

}  // namespace tiderace::tls
