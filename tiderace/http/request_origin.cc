#include "tiderace/http/request_origin.h"

#include <string>

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

void RequestOrigin::keep(Request& request) {
    if (request.peer != nullptr && request.peer != &peer_) {
        peer_ = *request.peer;
        request.peer = &peer_;
    }
    if (request.security != nullptr && security_ == nullptr) {
        security_ = std::make_unique<const Security>(*request.security);
        request.security = &security_->kept;
    }
}

void RequestOrigin::clear() {
    peer_ = {};
    security_.reset();
}

}  // namespace tiderace::http
