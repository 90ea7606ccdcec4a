#include "tiderace/http/cgi/program_places.h"

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

namespace tiderace::http::cgi {

struct ProgramPlaces::Waiter::Asked {
    core::EventLoop* loop;
    Waiter* waiter;  // the loop's; nullptr: it gave up
    core::ClientKey client;
};

ProgramPlaces::Waiter::Waiter(std::shared_ptr<ProgramPlaces> places, core::EventLoop& loop)
    : places_(std::move(places)), loop_(&loop) {}

ProgramPlaces::Waiter::~Waiter() {
    cancel();
}

ProgramPlaces::Waiter::Outcome ProgramPlaces::Waiter::ask(const core::ClientKey& client) {
    const std::lock_guard guard(places_->lock_);
    client_ = client;
    if (places_->places_.has_room_for(client)) {
        places_->places_.take(client);
        return Outcome::now;
    }
    if (places_->queue_.size() >= places_->waiting_max_ && !places_->displace_for(client)) {
        return Outcome::full;
    }
    asked_ = std::make_shared<Asked>(Asked{loop_, this, client});
    places_->queue_.push_back(asked_);
    return Outcome::later;
}

void ProgramPlaces::Waiter::give_back() {
    places_->pass_on(client_);
}

void ProgramPlaces::Waiter::cancel() {
    if (asked_ == nullptr) return;
    const std::shared_ptr<Asked> asked = std::exchange(asked_, nullptr);
    // Read and written on the waiter's loop alone, so without a lock.
    asked->waiter = nullptr;  // a place on its way is passed on when it arrives
    const std::lock_guard guard(places_->lock_);
    std::erase(places_->queue_, asked);
}

std::size_t ProgramPlaces::taken() const {
    const std::lock_guard guard(lock_);
    return places_.taken();
}

std::size_t ProgramPlaces::waiting() const {
    const std::lock_guard guard(lock_);
    return queue_.size();
}

// With the lock. False: no other client waits more often than the newcomer's.
bool ProgramPlaces::displace_for(const core::ClientKey& newcomer) {
    std::vector<core::ClientKey> clients;
    for (const auto& each : queue_) clients.push_back(each->client);
    const std::optional<std::size_t> chosen = who_gives_way(clients, newcomer);
    if (!chosen) return false;
    const auto place = queue_.begin() + static_cast<std::ptrdiff_t>(*chosen);
    const std::shared_ptr<Waiter::Asked> displaced = *place;
    // A loop that refuses posts ends, and with it its waiters.
    displaced->loop->post([displaced] {
        Waiter* const waiter = std::exchange(displaced->waiter, nullptr);
        if (waiter == nullptr) return;
        waiter->asked_.reset();
        waiter->on_displaced();
    });
    queue_.erase(place);
    return true;
}

void ProgramPlaces::set_places_max(std::size_t places_max) {
    {
        const std::lock_guard guard(lock_);
        places_.set_places_max(places_max);
    }
    give_out();
}

void ProgramPlaces::pass_on(const core::ClientKey& from) {
    {
        const std::lock_guard guard(lock_);
        places_.give_back(from);
    }
    give_out();
}

// Free places go to the first that wait and whose clients may have more.
void ProgramPlaces::give_out() {
    while (const std::shared_ptr<Waiter::Asked> next = take_for_next()) {
        const bool posted = next->loop->post([places = shared_from_this(), next] {
            Waiter* const waiter = std::exchange(next->waiter, nullptr);
            if (waiter == nullptr) return places->pass_on(next->client);
            waiter->asked_.reset();
            waiter->on_granted();
        });
        if (posted) continue;
        // Its loop has ended or is full, and the place would be lost.
        const std::lock_guard guard(lock_);
        places_.give_back(next->client);
    }
}

// The place belongs to the waiter while it is on its way. nullptr: no waiter may have one.
std::shared_ptr<ProgramPlaces::Waiter::Asked> ProgramPlaces::take_for_next() {
    const std::lock_guard guard(lock_);
    const auto found = std::ranges::find_if(
        queue_, [this](const auto& each) { return places_.has_room_for(each->client); });
    if (found == queue_.end()) return nullptr;
    std::shared_ptr<Waiter::Asked> next = std::move(*found);
    queue_.erase(found);
    places_.take(next->client);
    return next;
}

}  // namespace tiderace::http::cgi
