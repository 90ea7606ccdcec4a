#include "tiderace/http/cgi/program_places.h"

#include <algorithm>
#include <utility>

namespace tiderace::http::cgi {

struct ProgramPlaces::Waiter::Asked {
    core::EventLoop* loop;
    Waiter* waiter;  // the loop's; nullptr: it gave up
};

ProgramPlaces::Waiter::Waiter(std::shared_ptr<ProgramPlaces> places, core::EventLoop& loop)
    : places_(std::move(places)), loop_(&loop) {}

ProgramPlaces::Waiter::~Waiter() {
    cancel();
}

ProgramPlaces::Waiter::Outcome ProgramPlaces::Waiter::ask() {
    const std::lock_guard guard(places_->lock_);
    if (places_->taken_ < places_->places_max_) {
        ++places_->taken_;
        return Outcome::now;
    }
    if (places_->queue_.size() >= places_->waiting_max_) return Outcome::full;
    asked_ = std::make_shared<Asked>(Asked{loop_, this});
    places_->queue_.push_back(asked_);
    return Outcome::later;
}

void ProgramPlaces::Waiter::give_back() {
    places_->pass_on();
}

void ProgramPlaces::Waiter::cancel() {
    if (asked_ == nullptr) return;
    const std::shared_ptr<Asked> asked = std::exchange(asked_, nullptr);
    // Read and written on the waiter's loop alone, so it needs no lock.
    asked->waiter = nullptr;  // a place on its way is passed on when it arrives
    const std::lock_guard guard(places_->lock_);
    std::erase(places_->queue_, asked);
}

std::size_t ProgramPlaces::taken() const {
    const std::lock_guard guard(lock_);
    return taken_;
}

std::size_t ProgramPlaces::waiting() const {
    const std::lock_guard guard(lock_);
    return queue_.size();
}

// The place of one that is done goes to the first that waits.
void ProgramPlaces::pass_on() {
    for (;;) {
        std::shared_ptr<Waiter::Asked> next;
        {
            const std::lock_guard guard(lock_);
            if (queue_.empty()) {
                --taken_;
                return;
            }
            next = std::move(queue_.front());
            queue_.pop_front();
        }
        core::EventLoop& loop = *next->loop;
        // taken_ stays: the place belongs to `next` while it is on its way.
        const bool posted = loop.post([places = shared_from_this(), next = std::move(next)] {
            Waiter* const waiter = std::exchange(next->waiter, nullptr);
            if (waiter == nullptr) return places->pass_on();
            waiter->asked_.reset();
            waiter->on_granted();
        });
        // Otherwise its loop has ended or is full, and the place would be lost.
        if (posted) return;
    }
}

}  // namespace tiderace::http::cgi
