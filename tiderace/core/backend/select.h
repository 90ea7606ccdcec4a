// SelectPoller: POSIX select. Holds descriptor numbers below FD_SETSIZE (1,024) only; above, set()
// answers -EMFILE and the connection is refused. For portability and for the comparison.
//
// Errors   make_select_poller() returns nullptr where its own descriptor would have such a number.
#pragma once

#include <memory>

#include "tiderace/core/backend/poller.h"

namespace tiderace::core {

std::unique_ptr<Poller> make_select_poller();

}  // namespace tiderace::core
