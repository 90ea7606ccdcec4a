// A blocking TLS client of the load programs: connects to 127.0.0.1, shakes hands, sends and
// receives. The program ends with a sentence when something is not as it must be: a benchmark has
// no use for half an answer.
//
// Owner    Its creator. Thread: one.
#pragma once

#include <openssl/ssl.h>

#include <cstdint>
#include <string>
#include <string_view>

namespace tiderace::bench {

[[noreturn]] void give_up(const std::string& why);

// A client context: TLS 1.3, key exchange over P-256, no certificate check (it is a made-up one),
// buffers released while idle.
SSL_CTX* client_context();

// A connected TCP socket without delay; never -1.
int connect_to(std::uint16_t port);

class TlsPeer {
  public:
    // Connects and shakes hands, offering `protocol` by ALPN ("" for none).
    TlsPeer(SSL_CTX* context, std::uint16_t port, std::string_view protocol);
    ~TlsPeer();
    TlsPeer(TlsPeer&& other) noexcept;
    TlsPeer& operator=(TlsPeer&&) = delete;

    void send(std::string_view bytes);
    // Exactly so many.
    std::string receive(std::size_t bytes);

  private:
    SSL* ssl_;
};

}  // namespace tiderace::bench
