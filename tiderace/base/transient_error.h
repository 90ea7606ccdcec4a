// TransientError: the base of exceptions that may report an outage which is soon over: a database
// that restarts, a queue that is full. The operation has not been done.
//
//   struct TooBusy : std::runtime_error, TransientError { … };
//
// An App answers it with 503 and Retry-After, where any other exception is a 500.
//
// Thread   Any.
// Keywords: 503, Retry-After, outage
#pragma once

#include "tiderace/base/language.h"

namespace tiderace {

class TransientError {
  public:
    virtual ~TransientError() = default;

    // False: this one stays, or its outcome is unknown. A type may report both kinds.
    virtual bool is_transient() const noexcept { return true; }
};

}  // namespace tiderace
