#include "tests/seeds/other_loop.h"

#include <gtest/gtest.h>

#include <utility>

namespace tiderace::testing {

// The object that a post owns. It posts again when it is destroyed, as a last owner may.
class OtherLoop::Parcel {
  public:
    Parcel(OtherLoop& other, core::EventLoop& loop) : other_(&other), loop_(&loop) {}
    Parcel(Parcel&& from) noexcept
        : other_(std::exchange(from.other_, nullptr)), loop_(from.loop_), ran_(from.ran_) {}
    Parcel& operator=(Parcel&&) = delete;
    ~Parcel() {
        if (other_ == nullptr) return;
        if (!ran_) ++other_->unrun_;
        const bool taken = loop_->post([] {});
        EXPECT_EQ(taken, !other_->ending_);
        if (!taken) ++other_->refused_;
    }

    void run() {
        ran_ = true;
        ++other_->ran_;
    }

  private:
    OtherLoop* other_;
    core::EventLoop* loop_;
    bool ran_ = false;
};

class OtherLoop::Woken final : public core::Wakeup {
  public:
    Woken(core::EventLoop& loop, const OtherLoop& other) : Wakeup(loop), other_(&other) {}
    ~Woken() override = default;

  private:
    void on_woken() override { EXPECT_GT(other_->turns_left_, 0u) << "its loop has ended"; }

    const OtherLoop* other_;
};

OtherLoop::OtherLoop(FakeWorld& world)
    : turns_left_(world.random().below(300)),
      rests_left_(world.random().below(100)),
      loop_(world.make_loop()) {
    woken_ = std::make_unique<Woken>(*loop_, *this);
}

OtherLoop::~OtherLoop() {
    end();
}

void OtherLoop::turn() {
    if (loop_ == nullptr) return;
    if (turns_left_ > 0) {
        loop_->turn(Duration::zero());
        --turns_left_;
    } else if (rests_left_ > 0) {
        --rests_left_;
    } else {
        end();
    }
}

void OtherLoop::post(unique_function<void()> task) {
    woken_->wake();
    if (loop_ == nullptr) return;
    ++posted_;
    EXPECT_TRUE(loop_->post([parcel = Parcel(*this, *loop_), task = std::move(task)]() mutable {
        parcel.run();
        task();
    }));
}

void OtherLoop::end() {
    turns_left_ = 0;
    ending_ = true;
    loop_.reset();
    woken_->wake();
}

void OtherLoop::expect_to_end() {
    end();
    EXPECT_EQ(posted_, ran_ + unrun_);
    EXPECT_EQ(refused_, unrun_);
}

}  // namespace tiderace::testing
