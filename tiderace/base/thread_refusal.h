// Internal. Why the machine refuses another thread: a std::thread reports it by one of two
// exceptions, which this turns into an errno.
//
// Thread   Any.
#pragma once

#include <cerrno>
#include <concepts>
#include <new>
#include <system_error>
#include <utility>

#include "tiderace/base/language.h"

namespace tiderace {

// Runs `make`, which makes threads. 0, or the errno of the first that was refused: those made
// before it run.
template <std::invocable Make>
int thread_refusal(Make&& make) {
    try {
        std::forward<Make>(make)();
        return 0;
    } catch (const std::system_error& refused) {
        return refused.code().value();
    } catch (const std::bad_alloc&) {
        return ENOMEM;
    }
}

}  // namespace tiderace
