// A system call's result as Kernel gives it: -errno for a failure.
#pragma once

#include <cerrno>

namespace tiderace::core {

template <typename T>
T or_errno(T result) {
    return result < 0 ? -static_cast<T>(errno) : result;
}

}  // namespace tiderace::core
