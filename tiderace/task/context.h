// Internal. Context: what a task inherits from the one that awaits it. Waiter: a coroutine that
// waits.
//
// Owner    A Context belongs to its task's Root, or to the object that changes it for a part of the
//          task; a Waiter to the frame that waits.
// Thread   The loop's.
#pragma once

#include <coroutine>

#include "tiderace/base/check.h"
#include "tiderace/base/intrusive_list.h"
#include "tiderace/base/units.h"

namespace tiderace::task {

class Root;
class Runner;

// Ambient: where a task runs, and until when. No task has to pass it on.
struct Context {
    Runner* runner = nullptr;
    Root* root = nullptr;
    Instant deadline = Instant::max();
    const Context* around = nullptr;  // of within(): its root counts; a generator changes its task
    Root& owner() const { return around != nullptr ? around->owner() : *root; }
    // The context of the task that runs on this thread. Aborts outside of one.
    static Context& here();
    static Context*& current();  // nullptr outside of one
};

// A coroutine that waits: in a queue of what it waits for, then among the ready ones, in its frame.
// It leaves its queue when it dies.
class Waiter : private ListHook {
  public:
    Waiter() = default;
    // An awaitable may be moved until it is awaited.
    Waiter(Waiter&& other) noexcept : ListHook() {
        TR_CHECK(other.context_ == nullptr, "moved while it waits");
    }
    void suspend(std::coroutine_handle<> handle) {
        handle_ = handle;
        context_ = &Context::here();
    }
    // Resumes it later in this turn. Nothing happens to one that is ready already.
    void wake();
    Context* context() const { return context_; }
    using ListHook::linked;
    using ListHook::unlink;

  private:
    friend class Runner;
    template <typename T>
    friend class tiderace::IntrusiveList;
    std::coroutine_handle<> handle_;
    Context* context_ = nullptr;
    bool ready_ = false;
};

}  // namespace tiderace::task
