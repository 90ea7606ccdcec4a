// A system call's result as Kernel gives it: -errno for a failure.
//
// Thread   Any; errno is the thread's own. Nothing may come between the call and this.
#pragma once

#include <cerrno>

namespace tiderace::core {

template <typename T>
T or_errno(T result) {
    return result < 0 ? -static_cast<T>(errno) : result;
}

}  // namespace tiderace::core
