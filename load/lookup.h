// Lookup: the addresses of a host name, for a run whose audience may end the wait.
//
// getaddrinfo cannot be interrupted, and takes many seconds where no name server answers. So it
// runs on a thread, and a wait that is ended leaves that thread behind, which holds nothing but its
// own state and ends with getaddrinfo, or with the program.
//
// Thread   The caller's, which blocks until the addresses are there or the audience wants the end.
// Errors   As core::look_up; ECANCELED where the audience ended it, EAGAIN for no thread.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "tiderace/base/result.h"
#include "tiderace/core/address.h"
#include "tiderace/core/resolver.h"

namespace tiderace::load {

class LoadAudience;

using Lookup = std::function<Result<std::vector<core::Address>>(const std::string& host)>;

// Without an audience it runs on the caller's thread. `look_up` has to be safe on any thread, and
// use nothing that may end before it returns.
Result<std::vector<core::Address>> look_up_for(LoadAudience* audience, const std::string& host,
                                               const Lookup& look_up = core::look_up);

}  // namespace tiderace::load
