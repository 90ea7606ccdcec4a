// Internal. RequestOrigin: what a Request shows of its connection, kept for holders of the request
// that outlive the connection.
//
//   on the connection   request.peer, request.security -> Connection, Transport
//   after keep()        request.peer, request.security -> RequestOrigin
//   after show()        request.peer -> RequestOrigin
//
// Owner    The Exchange, beside its Request.
// Thread   The loop's.
// Memory   One Address; what TLS knows of the peer only where there is TLS.
#pragma once

#include <memory>

#include "tiderace/core/address.h"
#include "tiderace/http/request.h"

namespace tiderace::http {

class RequestOrigin {
  public:
    RequestOrigin();
    ~RequestOrigin();

    // Call before the connection goes; a second call does nothing. Without memory, the facts of TLS
    // and the path of a Unix socket are no longer shown.
    void keep(Request& request) noexcept;
    // Shows the address of the client behind a proxy instead of the connection's.
    void show(Request& request, const core::Address& client);
    // The request is over; a Request that was kept shows neither.
    void clear() {
        if (kept_) forget();
    }

  private:
    struct Security;

    void forget();

    core::Address peer_;
    std::unique_ptr<const Security> security_;
    bool kept_ = false;  // most requests end before their connection, and keep nothing
};

}  // namespace tiderace::http
