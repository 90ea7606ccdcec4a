// TlsServer, TlsClient: what a server and a client need to speak TLS. Every server and client of
// the library takes them: App::serve, tcp::ServerTls, http::Client, tcp::ClientTls.
//
//   return app.serve({.listen = ":443", .tls = {.certificates = {{"cert.pem", "key.pem"}}}});
//   Client client({.tls = {.ca = "ours.pem"}});
//
// All files are PEM. They are read again when they have changed: a server looks every two seconds,
// a client for each new connection. Files that cannot be read leave what was read before, with a
// warning. A connection keeps what it began with.
// Keywords: certificate, mTLS, client certificates, CA, self-signed
#pragma once

#include <compare>
#include <string>
#include <vector>

#include "tiderace/base/language.h"

namespace tiderace {

// A certificate with its chain, and its key.
struct TlsFiles {
    std::string certificate;
    std::string key;
    bool development = false;  // instead of both

    auto operator<=>(const TlsFiles&) const = default;
};

// For development: `.tls = {.certificates = {development_certificate}}`. A certificate for
// localhost, this machine's name and its addresses, made where there is none that serves, and
// signed by an authority that browsers can be made to trust: the one of `tiderace serve
// --tls-self-signed`, in the same files ($XDG_DATA_HOME/tiderace, or ~/.local/share/tiderace).
// `tiderace trust` explains how.
inline const TlsFiles development_certificate{.certificate = "", .key = "", .development = true};

struct TlsServer {
    std::vector<TlsFiles> certificates = {};  // chosen by the name that the client asks for
    // The authorities that sign clients' certificates. "": no certificate is requested.
    std::string client_ca = {};
    // With client_ca. False: a client without a certificate is also served. One that shows a
    // certificate that does not verify is refused in either case.
    bool client_required = true;
};

struct TlsClient {
    bool verify = true;         // false: encrypted, to any server at all; for tests
    bool system_roots = true;   // trust the system's authorities
    std::string ca = {};        // others to trust; "": none
    TlsFiles certificate = {};  // our own, for servers that ask for one

    auto operator<=>(const TlsClient&) const = default;
};

}  // namespace tiderace
