// Internal. ThreadRole: which thread may touch an object. A wrong-thread call aborts in every
// build. Where functions are marked TR_ON_LOOP, Clang's -Wthread-safety also refuses to compile a
// call from a function that neither is marked nor asks (EventLoop::assert_on_loop): what is posted
// to a pool or runs on another thread. cmake/Room.cmake says which rooms are compiled so.
//
// Cost     One thread-local load and a compare.
// Keywords: thread safety, race
#pragma once

#include "tiderace/base/check.h"

#if defined(__clang__)
#define TR_THREAD_ATTRIBUTE(x) __attribute__((x))
#else
#define TR_THREAD_ATTRIBUTE(x)
#endif

// The function is called on a loop's thread; it asks whether that is so.
#define TR_ON_LOOP TR_THREAD_ATTRIBUTE(requires_capability(::tiderace::loop_thread))
#define TR_ASKS_FOR_LOOP TR_THREAD_ATTRIBUTE(assert_capability(::tiderace::loop_thread))

namespace tiderace {

// For the compiler all loops' threads are one; which of them it is, the check at run time tells.
class TR_THREAD_ATTRIBUTE(capability("thread of a loop")) LoopThread {};
inline constexpr LoopThread loop_thread;

class TR_THREAD_ATTRIBUTE(capability("role")) ThreadRole {
  public:
    ThreadRole() = default;
    ThreadRole(const ThreadRole&) = delete;
    ThreadRole& operator=(const ThreadRole&) = delete;

    // This thread takes the role, or gives it back. A thread holds one role of this kind at a time.
    void take() TR_THREAD_ATTRIBUTE(acquire_capability())
        TR_THREAD_ATTRIBUTE(no_thread_safety_analysis) {
        TR_CHECK(current == nullptr, "this thread has a role already");
        current = this;
    }
    void give_back() TR_THREAD_ATTRIBUTE(release_capability())
        TR_THREAD_ATTRIBUTE(no_thread_safety_analysis) {
        TR_CHECK(current == this);
        current = nullptr;
    }
    bool held_here() const { return current == this; }
    // This thread has a role: a loop turns on it.
    static bool any_here() { return current != nullptr; }
    // Aborts elsewhere.
    void assert_here() const TR_THREAD_ATTRIBUTE(assert_capability(this)) {
        TR_CHECK(current == this, "called on the wrong thread; use EventLoop::post");
    }

  private:
    static inline thread_local const ThreadRole* current = nullptr;
};

}  // namespace tiderace
