#include "load/speaks_tls.h"

#include <string>

#include "tiderace/core/event_loop.h"
#include "tiderace/net/connection.h"
#include "tiderace/net/connector.h"

namespace tiderace::load {
namespace {

using namespace std::string_literals;

constexpr Duration answer_patience = 2s;

// `content` behind its length, a number of so many bytes.
std::string with_length(std::size_t bytes, const std::string& content) {
    std::string made;
    for (std::size_t i = bytes; i > 0; --i) {
        made += static_cast<char>(content.size() >> (8 * (i - 1)) & 0xff);
    }
    return made + content;
}

// A ClientHello of TLS 1.2 (RFC 5246, 7.4.1.2). A server that wants a later version, a name or
// other ciphers answers with an alert, which is TLS as well.
std::string client_hello() {
    const std::string random(32, 't');                                // no secret depends on it
    const std::string ciphers = "\xc0\x2b\xc0\x2f\xc0\x2c\xc0\x30"s;  // ECDHE with AES-GCM
    const std::string groups = "\x00\x1d\x00\x17"s;                   // X25519, P-256
    const std::string signatures = "\x04\x03\x08\x04\x04\x01"s;  // ECDSA, RSA-PSS, RSA: SHA-256
    const std::string extensions =
        "\x00\x0a"s + with_length(2, with_length(2, groups)) +   //
        "\x00\x0b"s + with_length(2, with_length(1, "\x00"s)) +  // points are uncompressed
        "\x00\x0d"s + with_length(2, with_length(2, signatures));
    const std::string hello = "\x03\x03"s + random + with_length(1, "") +  // no session
                              with_length(2, ciphers) + with_length(1, "\x00"s) +
                              with_length(2, extensions);
    return "\x16\x03\x01"s + with_length(2, "\x01"s + with_length(3, hello));
}

// Ends the connection as soon as its first bytes are there.
class Handshake final : public net::Session {
  public:
    void begin(net::Connection& connection) {
        connection.start(*this);
        connection.write(client_hello());
        connection.set_deadline(connection.loop().now() + answer_patience);
    }

    bool over = false;
    bool is_tls = false;

  private:
    std::size_t on_data(net::Connection& connection, ByteView data) override {
        // The connection keeps them, and shows them again with the next ones.
        if (data.size() < 2) return 0;
        // A record of a handshake or an alert, of any version. Two bytes are enough: no answer in
        // clear text begins with these.
        is_tls = (data[0] == '\x16' || data[0] == '\x15') && data[1] == '\x03';
        connection.close(net::CloseReason::aborted);
        return data.size();
    }
    void on_close(net::Connection&, net::CloseReason) override { over = true; }
};

}  // namespace

bool speaks_tls(const core::Address& address, std::string_view engine) {
    // A loop of its own, because the load's loops belong to their threads, or to other processes.
    auto loop = core::EventLoop::create({.engine = engine});
    if (!loop) return false;
    Handshake handshake;
    net::Connector connector(**loop,
                             {.connection = {}, .timeout = answer_patience, .connections_max = 1});
    // Its result comes in a turn of the loop below, also where the kernel refuses at once.
    connector.connect(address, [&](Result<net::Connection*> made) {
        if (made) return handshake.begin(**made);
        handshake.over = true;
    });
    while (!handshake.over) (*loop)->turn(Duration(-1));
    // The Session is on this frame: no connection may outlive it.
    do {
        (*loop)->turn(Duration::zero());
    } while (connector.size() > 0);
    return handshake.is_tls;
}

}  // namespace tiderace::load
