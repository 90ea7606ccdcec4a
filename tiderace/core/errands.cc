#include "tiderace/core/errands.h"

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <thread>
#include <utility>

#include "tiderace/base/check.h"

namespace tiderace::core {
namespace {

constexpr Duration pause_before_another_post = 1ms;

}  // namespace

// What the pool's threads share with us. While one of them works, we do not end; a task that starts
// after our end finds the door closed.
struct Errands::Door {
    Door(Errands& e, EventLoop& l) : errands(&e), loop(&l) {}

    bool enter() {
        const std::lock_guard held(lock);
        if (closed) return false;
        ++working;
        return true;
    }
    void leave() {
        {
            const std::lock_guard held(lock);
            --working;
        }
        nobody_works.notify_all();
    }
    bool is_closed() {
        const std::lock_guard held(lock);
        return closed;
    }
    void close() {
        std::unique_lock held(lock);
        closed = true;
        nobody_works.wait(held, [this] { return working == 0; });
    }

    Errands* const errands;
    EventLoop* const loop;
    std::mutex lock;  // guards the next two
    std::size_t working = 0;
    bool closed = false;
    std::condition_variable nobody_works;
};

Errands::Errands(EventLoop& loop, WorkerPool& pool, std::size_t errands_max)
    : pool_(&pool), errands_max_(errands_max), door_(std::make_shared<Door>(*this, loop)) {
    TR_CHECK(errands_max_ > 0);
}

Errands::~Errands() {
    door_->close();
}

SlotId Errands::start(std::unique_ptr<Errand>& errand) {
    door_->loop->assert_on_loop();
    TR_CHECK(errand != nullptr);
    if (out_.size() >= errands_max_) return {};
    Out& out = out_.emplace();
    const SlotId id = out.id;
    out.errand = std::move(errand);
    if (pool_->submit(
            [door = door_, id, working = out.errand.get()] { run(door, id, *working); })) {
        return id;
    }
    errand = std::move(out.errand);
    out_.erase(id);
    return {};
}

void Errands::run(const std::shared_ptr<Door>& door, SlotId id, Errand& errand) {
    if (!door->enter()) return;
    // Whoever asks and goes away again must not keep the pool from the others.
    if (!errand.cancelled_.load(std::memory_order_relaxed)) errand.work();
    // A mailbox is full while its loop is late, for a turn or two.
    while (!door->loop->post([door, id] {
        // The door is open as long as the errands are there, and both end on this thread.
        if (!door->is_closed()) door->errands->come_back(id);
    })) {
        if (door->is_closed()) break;
        std::this_thread::sleep_for(pause_before_another_post);
    }
    door->leave();
}

void Errands::cancel(SlotId id) {
    door_->loop->assert_on_loop();
    if (Out* out = out_.find(id)) out->errand->cancelled_.store(true, std::memory_order_relaxed);
}

void Errands::come_back(SlotId id) {
    Out* out = out_.find(id);
    TR_CHECK(out != nullptr, "an errand came back twice");
    const std::unique_ptr<Errand> errand = std::move(out->errand);
    out_.erase(id);
    if (!errand->cancelled_.load(std::memory_order_relaxed)) errand->done();
}

}  // namespace tiderace::core
