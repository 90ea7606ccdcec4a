// Internal. contain: calls code of an application. An exception ends here, as one line of the log;
// the loop and all other connections go on.
//
// Thread   Any.
// Errors   False: it threw, std::bad_alloc included.
// Keywords: exception, 500
#pragma once

#include <string_view>
#include <utility>

#include "tiderace/base/thread_role.h"
#include "tiderace/log/logger.h"

namespace tiderace::core {

// Inside a catch: logs the exception and its source ("a handler"). For all loops together, at most
// one line a second reports lack of memory, and one any other exception, with the number of lines
// left out. Never throws.
void log_exception(log::Logger* log, std::string_view scope, std::string_view thrower) noexcept;

template <typename Call>
bool contain(log::Logger* log, std::string_view scope, std::string_view thrower, Call&& call)
    TR_THREAD_ATTRIBUTE(no_thread_safety_analysis) {
    try {
        std::forward<Call>(call)();
        return true;
    } catch (...) {
        log_exception(log, scope, thrower);
        return false;
    }
}

}  // namespace tiderace::core
