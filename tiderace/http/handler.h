// Internal. Handler: answers requests. The library's centre: a static server, a router and an
// application are handlers.
//
// Owner    The program; it outlives the loop's last turn. One per loop: nothing is shared between
//          loops.
// Thread   The loop's.
#pragma once

#include "tiderace/http/exchange.h"

namespace tiderace::http {

class Handler {
  public:
    virtual ~Handler() = default;
    // Answers, defers, or receives the body. Must not block. An exception is answered 500.
    virtual void handle(Exchange& exchange) = 0;
};

}  // namespace tiderace::http
