// A loop under virtual time, a pool and a Runner, for the tests of tasks.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <thread>
#include <utility>

#include "tiderace/core/worker_pool.h"
#include "tiderace/task/runner.h"
#include "tiderace/task/scope.h"
#include "tiderace/task/sleep.h"
#include "tiderace/testing/fake_world.h"

namespace tiderace::task {

class TaskTest : public ::testing::Test {
  protected:
    // Runs `task` in virtual time until it ends; rethrows its exception.
    void run(Task<> task) {
        Kept root;
        root.start(runner, std::move(task));
        ASSERT_TRUE(world.run_until([&] { return root.ended; })) << "it never ended";
        if (root.failure) std::rethrow_exception(root.failure);
    }
    // For what a thread of the pool does: it is real, so no virtual time passes meanwhile, and it
    // may need the processor that these turns take.
    template <typename Done>
    void turn_until(Done done) {
        while (!done()) {
            world.loop().turn(0ms);
            std::this_thread::sleep_for(1ms);
        }
    }
    Duration elapsed() const { return world.elapsed(); }

    class Kept final : public Root {
      public:
        bool ended = false;
        std::exception_ptr failure;

      private:
        void on_done(std::exception_ptr why) override {
            ended = true;
            failure = std::move(why);
        }
    };

    tiderace::testing::FakeWorld world;
    core::WorkerPool pool{2, 16};
    Runner runner{world.loop(), &pool};
};

// Adds a letter to a text when it dies: shows that a frame ended, and when.
class Farewell {
  public:
    Farewell(std::string& text, char letter) : text_(&text), letter_(letter) {}
    Farewell(const Farewell&) = delete;
    ~Farewell() { *text_ += letter_; }

  private:
    std::string* text_;
    char letter_;
};

}  // namespace tiderace::task
