#include "tiderace/testing/fake_world.h"

#include "tiderace/testing/fake/poller.h"
#include "tiderace/testing/fake/stand_in_queue.h"

namespace tiderace::testing {

FakeWorld::FakeWorld(const FaultPlan& plan, Asks asks)
    : network_(clock_, plan), waiting_(network_), began_(clock_.now()) {
    std::unique_ptr<core::Poller> poller;
    if (asks == Asks::by_kqueue) {
        poller = core::make_kqueue_poller(std::make_unique<FakeQueue>(network_, waiting_));
    } else {
        poller = std::make_unique<FakePoller>(network_, waiting_);
    }
    start(network_, std::move(poller));
}

FakeWorld::~FakeWorld() {
    // The loop is the base's, and would outlive the network that it calls.
    loop_.reset();
}

std::unique_ptr<core::EventLoop> FakeWorld::make_loop() {
    others_waiting_.push_back(std::make_unique<FakeWait>(network_));
    return make_loop_on(std::make_unique<FakePoller>(network_, *others_waiting_.back()));
}

std::unique_ptr<FakePeer> FakeWorld::connect_fake(const core::Address& to) {
    return std::make_unique<FakePeer>(network_, to);
}

std::unique_ptr<Peer> FakeWorld::connect(const core::Address& to) {
    return connect_fake(to);
}

bool FakeWorld::run_until(unique_function<bool()> done) {
    const Instant latest = clock_.now() + run_max;
    while (!done()) {
        if (clock_.now() > latest) return false;
        loop_->turn(Duration(-1));
        // What is not so by now never will be.
        if (waiting_.nothing_to_come()) return done();
    }
    return true;
}

void FakeWorld::settle() {
    // Ends after a round in which every call to the kernel failed at once; the count
    // bounds activity that would continue for ever at one moment.
    for (int round = 0; round < 64; ++round) loop_->turn(Duration::zero());
}

void FakeWorld::advance(Duration by) {
    const Instant until = clock_.now() + by;
    do {
        loop_->turn(until - clock_.now());
    } while (clock_.now() < until);
    settle();
}

std::int64_t FakeWorld::open_descriptors() const {
    return static_cast<std::int64_t>(network_.open_descriptors());
}

}  // namespace tiderace::testing
