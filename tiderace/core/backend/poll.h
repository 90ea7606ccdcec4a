// PollPoller: POSIX poll. The kernel is given the whole list at each wait, so its cost grows with
// the number of connections, busy or not: for portability and for the comparison.
#pragma once

#include <memory>

#include "tiderace/core/backend/poller.h"

namespace tiderace::core {

std::unique_ptr<Poller> make_poll_poller();

}  // namespace tiderace::core
