#include "bench/tls_peer.h"

#include <arpa/inet.h>
#include <netinet/tcp.h>
#include <openssl/err.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <system_error>
#include <utility>

namespace tiderace::bench {

void give_up(const std::string& why) {
    std::fprintf(stderr, "%s\n", why.c_str());
    std::_Exit(1);
}

SSL_CTX* client_context() {
    SSL_CTX* context = SSL_CTX_new(TLS_client_method());
    if (context == nullptr || SSL_CTX_set_min_proto_version(context, TLS1_3_VERSION) != 1 ||
        SSL_CTX_set1_groups_list(context, "P-256") != 1) {
        give_up("OpenSSL makes no client");
    }
    SSL_CTX_set_mode(context, SSL_MODE_RELEASE_BUFFERS);
    SSL_CTX_set_verify(context, SSL_VERIFY_NONE, nullptr);
    return context;
}

int connect_to(std::uint16_t port) {
    const int fd = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_in to{};
    to.sin_family = AF_INET;
    to.sin_port = htons(port);
    to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    if (fd < 0 || ::connect(fd, reinterpret_cast<const sockaddr*>(&to), sizeof to) != 0) {
        give_up(std::string("connect: ") + std::generic_category().message(errno));
    }
    const int on = 1;
    ::setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    return fd;
}

TlsPeer::TlsPeer(SSL_CTX* context, std::uint16_t port, std::string_view protocol)
    : ssl_(SSL_new(context)) {
    if (ssl_ == nullptr) give_up("OpenSSL makes no connection");
    if (!protocol.empty()) {
        std::string offer(1, static_cast<char>(protocol.size()));
        offer += protocol;
        SSL_set_alpn_protos(ssl_, reinterpret_cast<const unsigned char*>(offer.data()),
                            static_cast<unsigned>(offer.size()));
    }
    SSL_set_fd(ssl_, connect_to(port));
    if (SSL_connect(ssl_) != 1) {
        give_up(std::string("handshake: ") + ERR_reason_error_string(ERR_peek_error()));
    }
    const unsigned char* chosen = nullptr;
    unsigned size = 0;
    SSL_get0_alpn_selected(ssl_, &chosen, &size);
    if (std::string_view(reinterpret_cast<const char*>(chosen), size) != protocol) {
        give_up("the server did not choose " + std::string(protocol));
    }
}

TlsPeer::~TlsPeer() {
    if (ssl_ == nullptr) return;
    const int fd = SSL_get_fd(ssl_);
    SSL_free(ssl_);
    ::close(fd);
}

TlsPeer::TlsPeer(TlsPeer&& other) noexcept : ssl_(std::exchange(other.ssl_, nullptr)) {}

void TlsPeer::send(std::string_view bytes) {
    if (SSL_write(ssl_, bytes.data(), static_cast<int>(bytes.size())) <= 0) {
        give_up("the server closed during the request");
    }
}

std::string TlsPeer::receive(std::size_t bytes) {
    std::string received(bytes, '\0');
    for (std::size_t at = 0; at < bytes;) {
        const int got = SSL_read(ssl_, received.data() + at, static_cast<int>(bytes - at));
        if (got <= 0) give_up("the server closed in its answer");
        at += static_cast<std::size_t>(got);
    }
    return received;
}

}  // namespace tiderace::bench
