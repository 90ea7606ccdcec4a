// Internal. Transfer: from one coroutine to the next, on a bounded part of the stack in every
// build.
//
//   resume(a) -> a runs -> b -> … -> the transfers_max-th is put off: all return to resume(),
//      ^                                                                     |
//      +---- which resumes the one that was put off, on an empty stack <-----+
//
// An await_suspend that returns a handle makes the compiler call resume() on it. That is a tail
// call only where the compiler optimises; elsewhere each one takes the stack of a call, and an
// await of a task takes two: to the task, and back.
//
// Thread   Any; each has its own count.
// Limits   transfers_max
// Keywords: symmetric transfer, stack overflow
#pragma once

#include <coroutine>
#include <cstdint>
#include <utility>

#include "tiderace/base/language.h"

namespace tiderace::task {

inline constexpr std::uint32_t transfers_max = 64;

struct TransferState {
    std::uint32_t left = UINT32_MAX;  // no resume() would take what is put off
    std::coroutine_handle<> put_off;
};
inline constinit thread_local TransferState transfer_state;

// The value that an await_suspend returns to go on with `next`, which is suspended.
inline std::coroutine_handle<> transfer(std::coroutine_handle<> next) noexcept {
    TransferState& state = transfer_state;
    if (state.left-- > 0) [[likely]] {
        return next;
    }
    // Between here and resume() calls only return.
    state.put_off = next;
    return std::noop_coroutine();
}

// Runs a coroutine, and its successors by transfer, until one waits. A coroutine may call this: the
// inner call counts on its own, because it has to end what it began.
inline void resume(std::coroutine_handle<> next) {
    TransferState& state = transfer_state;
    const std::uint32_t left = state.left;
    while (next) {
        state.left = transfers_max;
        next.resume();
        next = std::exchange(state.put_off, nullptr);
    }
    state.left = left;
}

}  // namespace tiderace::task
