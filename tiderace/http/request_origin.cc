#include "tiderace/http/request_origin.h"

#include <new>
#include <string>

#include "tiderace/net/transport.h"

namespace tiderace::http {

// With the texts that TransportSecurity only looks at.
struct RequestOrigin::Security {
    explicit Security(const net::TransportSecurity& of)
        : protocol(of.protocol), version(of.version), cipher(of.cipher), kept(of) {
        kept.protocol = protocol;
        kept.version = version;
        kept.cipher = cipher;
    }
    Security(const Security&) = delete;
    Security& operator=(const Security&) = delete;

    std::string protocol;
    std::string version;
    std::string cipher;
    net::TransportSecurity kept;
};

RequestOrigin::RequestOrigin() = default;
RequestOrigin::~RequestOrigin() = default;

// Called when the connection goes while a handler still holds the exchange: the peer's address and
// the session's facts are the connection's.
void RequestOrigin::keep(Request& request) noexcept {
    if (request.peer != nullptr && request.peer != &peer_) {
        kept_ = true;
        try {
            peer_ = *request.peer;
        } catch (const std::bad_alloc&) {  // the path of a Unix socket
            peer_ = {};
        }
        request.peer = &peer_;
    }
    if (request.security != nullptr && security_ == nullptr) {
        kept_ = true;
        try {
            security_ = std::make_unique<const Security>(*request.security);
            request.security = &security_->kept;
        } catch (const std::bad_alloc&) {
            request.security = nullptr;
        }
    }
}

void RequestOrigin::show(Request& request, const core::Address& client) {
    kept_ = true;
    peer_ = client;
    request.peer = &peer_;
}

void RequestOrigin::forget() {
    kept_ = false;
    peer_ = {};
    security_.reset();
}

}  // namespace tiderace::http
