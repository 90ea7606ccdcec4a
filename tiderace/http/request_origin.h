// RequestOrigin: what a Request shows of its connection, kept for those that hold the request
// longer than the connection lives.
//
//   on the connection   request.peer, request.security -> Connection, Transport
//   after keep()        request.peer, request.security -> RequestOrigin
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

    // Before the connection goes. Doing it again does nothing.
    void keep(Request& request);
    // The request is over; a Request that was kept shows neither.
    void clear();

  private:
    struct Security;

    core::Address peer_;
    std::unique_ptr<const Security> security_;
};

}  // namespace tiderace::http
