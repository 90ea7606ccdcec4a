// Tells a client of TLS which of its certificates was verified, as an answer that curl takes.
//
//   tcp_members ADDRESS CERTIFICATE KEY CLIENT_CA required|optional
#include <tiderace/serve/stream_tls.h>
#include <tiderace/tcp.h>

#include <string>
#include <string_view>

using namespace tiderace;

namespace {

Task<> answer(tcp::Stream s) {
    const net::TransportSecurity& security = *s.security();  // known before anything is read
    if (!co_await s.read_until("\r\n\r\n")) co_return;
    const std::string body =
        (security.client_verified ? "verified " : "nobody ") + security.client + "\n";
    std::string text = "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: ";
    text += std::to_string(body.size()) + "\r\nConnection: close\r\n\r\n" + body;
    co_await s.write(text);
}

}  // namespace

int main(int argc, char** argv) {
    if (argc != 6) return 2;
    const tcp::ServerTls tls({.certificates = {{argv[2], argv[3]}},
                              .client_ca = argv[4],
                              .client_required = std::string_view(argv[5]) == "required"});
    return tcp::serve(argv[1], answer, {.security = &tls});
}
