// ThreadRole: which thread may touch an object. A wrong-thread call aborts in every build; where a
// function is marked TR_ON_LOOP, Clang's -Wthread-safety makes most such calls compile errors.
//
// Cost     One thread-local load and a compare.
#pragma once

#include "tiderace/base/check.h"

#if defined(__clang__)
#define TR_THREAD_ATTRIBUTE(x) __attribute__((x))
#else
#define TR_THREAD_ATTRIBUTE(x)
#endif

// The function is called on the thread that holds the role `x` (an expression naming a ThreadRole).
#define TR_ON_LOOP(x) TR_THREAD_ATTRIBUTE(requires_capability(x))

namespace tiderace {

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
    // Aborts elsewhere.
    void assert_here() const TR_THREAD_ATTRIBUTE(assert_capability(this)) {
        TR_CHECK(current == this, "called on the wrong thread; use EventLoop::post");
    }

  private:
    static inline thread_local const ThreadRole* current = nullptr;
};

}  // namespace tiderace
