// OtherLoop: a second loop of the fake world. It ends at a moment that the seed chooses, while
// handlers of the first still post to it and wake what waits on it.
//
//   turning ---> stopped: posts are taken, and never run ---> gone: wake() does nothing
//
// Owner    A scenario; it goes before its world.
// Thread   The test's. turn(): between turns of the world's loop.
#pragma once

#include <cstdint>
#include <memory>

#include "tiderace/base/unique_function.h"
#include "tiderace/core/event_loop.h"
#include "tiderace/core/wakeup.h"
#include "tiderace/testing/fake_world.h"

namespace tiderace::testing {

class OtherLoop {
  public:
    explicit OtherLoop(FakeWorld& world);
    ~OtherLoop();

    // One turn, or one more without one.
    void turn();
    // Posts `task` and wakes an object of the loop, whatever has become of it.
    void post(unique_function<void()> task);
    // Every post has run, or is gone with the loop.
    void expect_to_end();

  private:
    class Parcel;
    class Woken;

    void end();

    std::uint64_t turns_left_;
    std::uint64_t rests_left_;
    std::uint64_t posted_ = 0;
    std::uint64_t ran_ = 0;
    std::uint64_t unrun_ = 0;
    std::uint64_t refused_ = 0;  // posts of what was destroyed with the loop
    bool ending_ = false;
    std::unique_ptr<Woken> woken_;  // outlives its loop
    std::unique_ptr<core::EventLoop> loop_;
};

}  // namespace tiderace::testing
