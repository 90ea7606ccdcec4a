#include "lab/engine/connection_threads.h"

#include <algorithm>
#include <new>
#include <string>
#include <thread>
#include <utility>

#include "tiderace/base/check.h"
#include "tiderace/base/thread_name.h"
#include "tiderace/base/thread_refusal.h"
#include "tiderace/core/contain.h"
#include "tiderace/net/acceptor.h"

namespace tiderace::lab::engine {

// A seat:
//
//   free (in free_) --take()--> taken --its connection ended--> free (has_more)
//       ^                         ^  |
//       |                         |  +--one waits: takes it, and stays taken
//   attend(): out of free_ for one turn, so that its loop runs what was posted
//
// Free and taken change under the lock, because the first loop gives seats away while their threads
// give them back.
struct ConnectionThreads::Seat {
    std::size_t number = 0;  // its loop's
    core::EventLoop* loop = nullptr;
    BlockingBackend* backend = nullptr;
    std::thread thread;
    // Under the lock.
    bool only_empties = false;   // its thread was started for a full mailbox, and then leaves
    std::uint64_t attended = 0;  // how often attend() has posted to it
    // Its thread's own; attend() reads the second while the seat is free.
    bool is_taken = false;    // it has, or had in this turn, a connection
    std::uint64_t heard = 0;  // of attend(): all that was posted before is done
};

// The listening sockets, on the first loop.
class ConnectionThreads::ThreadIntake final : public net::Intake {
  public:
    ThreadIntake(ConnectionThreads& threads, std::vector<Target> targets,
                 const net::IntakeOptions& options)
        : threads_(&threads),
          targets_(std::make_shared<const std::vector<Target>>(std::move(targets))),
          options_(options) {}

    void listen(core::Descriptor listener) override { open(std::move(listener), false); }
    void listen_layered(core::Descriptor listener) override { open(std::move(listener), true); }
    void stop() override {
        for (auto& entrance : entrances_) entrance->acceptor.stop();
        for (const ArrivedPtr& arrived : threads_->give_up_waiting()) {
            refuse(std::move(arrived->descriptor), arrived->layered);
        }
    }
    std::uint64_t refused() const override { return refused_; }

  private:
    struct Entrance final : net::Acceptor::Receiver {
        Entrance(ThreadIntake& k, core::Descriptor listener, bool l)
            : intake(&k), layered(l), acceptor(*k.loop(), std::move(listener), *this) {
            acceptor.start();
        }
        void on_connection(int fd, const core::Address& peer) override {
            intake->take(fd, peer, layered);
        }
        ThreadIntake* intake;
        bool layered;
        net::Acceptor acceptor;
    };

    core::EventLoop* loop() { return &threads_->loop(0); }
    void open(core::Descriptor listener, bool layered) {
        entrances_.push_back(std::make_unique<Entrance>(*this, std::move(listener), layered));
    }
    void take(int fd, const core::Address& peer, bool layered) {
        core::Descriptor descriptor(loop()->kernel(), fd);
        ArrivedPtr arrived;
        try {
            // Before a seat is taken for it, and once for its whole way: behind this, nothing that
            // may fail stands between a seat and its return.
            arrived = std::make_shared<Arrived>(Arrived{peer, targets_, layered});
        } catch (const std::bad_alloc&) {
            return refuse(std::move(descriptor), layered);
        }
        arrived->descriptor = std::move(descriptor);
        if (!threads_->take(arrived, options_)) refuse(std::move(arrived->descriptor), layered);
    }
    // Sends no refusal over TLS, because the peer could not read clear text.
    void refuse(core::Descriptor descriptor, bool layered) {
        ++refused_;
        const std::string_view words =
            layered ? std::string_view() : std::string_view(options_.refusal);
        net::refuse_connection(loop()->kernel(), descriptor.release(), words);
    }

    ConnectionThreads* threads_;
    std::shared_ptr<const std::vector<Target>> targets_;
    net::IntakeOptions options_;
    std::vector<std::unique_ptr<Entrance>> entrances_;
    std::uint64_t refused_ = 0;
};

Result<std::unique_ptr<net::LoopGroup>> ConnectionThreads::create(
    std::size_t seats, SeatThreads threads, const core::LoopOptions& options) {
    core::LoopOptions first = options;
    first.engine = "auto";
    auto accepting = core::EventLoop::create(first);
    if (!accepting) return fail(accepting.error());
    std::vector<std::unique_ptr<core::EventLoop>> loops;
    loops.push_back(std::move(*accepting));
    std::vector<std::unique_ptr<Seat>> made;
    // All of them now, also where threads are started for each connection: a new connection works
    // without an epoll, which could be refused then.
    for (std::size_t i = 1; i <= seats; ++i) {
        auto backend = make_blocking_backend(options.backend);
        if (!backend) return fail(backend.error());
        auto seat = std::make_unique<Seat>();
        seat->number = i;
        seat->backend = static_cast<BlockingBackend*>(backend->get());
        loops.push_back(std::make_unique<core::EventLoop>(std::move(*backend), options));
        seat->loop = loops.back().get();
        made.push_back(std::move(seat));
    }
    return std::unique_ptr<net::LoopGroup>(
        new ConnectionThreads(std::move(loops), std::move(made), threads));
}

ConnectionThreads::ConnectionThreads(std::vector<std::unique_ptr<core::EventLoop>> loops,
                                     std::vector<std::unique_ptr<Seat>> seats, SeatThreads threads)
    : net::LoopGroup(std::move(loops)), how_(threads), seats_(std::move(seats)) {
    // The last is taken first: the seat that was left last is the warmest.
    for (auto seat = seats_.rbegin(); seat != seats_.rend(); ++seat) free_.push_back(seat->get());
}

ConnectionThreads::~ConnectionThreads() {
    for (const auto& seat : seats_) TR_CHECK(!seat->thread.joinable(), "run() has not returned");
}

std::unique_ptr<net::Intake> ConnectionThreads::make_intake(
    std::vector<net::Intake::Target> targets, const net::IntakeOptions& options) {
    TR_CHECK(targets.size() == size());
    net::IntakeOptions ours = options;
    // A server with a thread for each connection has no queue: above its threads it refuses.
    if (how_ == SeatThreads::one_each) ours.waiting_max = 0;
    return std::make_unique<ThreadIntake>(*this, std::move(targets), ours);
}

// False: it is still the caller's, to be refused: there is no room, no thread, no memory, or no
// place in the seat's mailbox.
bool ConnectionThreads::take(const ArrivedPtr& arrived, const net::IntakeOptions& options) {
    Seat* seat = nullptr;
    {
        const std::scoped_lock held(lock_);
        const std::size_t served = seats_.size() - free_.size();
        if (served + waiting_.size() >= options.connections_max) return false;
        if (free_.empty()) return keep_waiting(arrived, options);
        seat = free_.back();
        free_.pop_back();
    }
    const bool given = give(*seat, arrived);
    if (how_ == SeatThreads::kept) {
        if (!given) give_back(*seat);
        return given;
    }
    if (!given) {
        const std::scoped_lock held(lock_);
        seat->only_empties = true;
    }
    if (start_thread(*seat)) return given;
    // No thread runs the post, so that the connection is still ours.
    give_back(*seat);
    return false;
}

// Under the lock.
bool ConnectionThreads::keep_waiting(const ArrivedPtr& arrived, const net::IntakeOptions& options) {
    if (waiting_.size() >= options.waiting_max) return false;
    try {
        waiting_.push_back(arrived);
    } catch (const std::bad_alloc&) {
        return false;
    }
    return true;
}

void ConnectionThreads::give_back(Seat& seat) {
    const std::scoped_lock held(lock_);
    seat.only_empties = false;
    free_.push_back(&seat);  // allocates nothing: it once held all seats
}

// False: the mailbox takes no more. Where the loop ends before the post runs, the connection is
// closed with it.
bool ConnectionThreads::give(Seat& seat, const ArrivedPtr& arrived) {
    return seat.loop->post([&seat, arrived] {
        seat.is_taken = true;
        // Without one there was no thread, and the first loop has refused it.
        if (arrived->descriptor) adopt(seat, *arrived);
    });
}

// On the seat's thread.
void ConnectionThreads::adopt(Seat& seat, Arrived& arrived) {
    const net::Intake::Target& target = (*arrived.targets)[seat.number];
    target.server->adopt(arrived.descriptor.release(), arrived.peer,
                         arrived.layered ? target.layer : nullptr);
}

std::deque<ConnectionThreads::ArrivedPtr> ConnectionThreads::give_up_waiting() {
    const std::scoped_lock held(lock_);
    return std::exchange(waiting_, {});
}

bool ConnectionThreads::start_thread(Seat& seat) {
    if (seat.thread.joinable()) seat.thread.join();  // it has left, or is leaving
    return thread_refusal([&] { seat.thread = std::thread([this, &seat] { serve(seat); }); }) == 0;
}

void ConnectionThreads::serve(Seat& seat) {
    name_this_thread("seat " + std::to_string(seat.number));
    do {
        seat.loop->turn(Duration(-1));
    } while (!stopping_.load(std::memory_order_acquire) && has_more(seat));
}

// Whether the thread of the seat goes on.
// After the last connection of a seat: it takes the next one that waits, or is free. Both are
// decided under the lock, because the first loop gives seats away at the same time.
bool ConnectionThreads::has_more(Seat& seat) {
    // Again for each one that found no memory, and was closed: nothing would wake the loop then,
    // and those behind it would stand there.
    while (seat.backend->attached() == 0) {
        ArrivedPtr next;
        {
            const std::scoped_lock held(lock_);
            if (seat.heard < seat.attended) return true;  // posts are still pending
            if (std::exchange(seat.only_empties, false)) {
                seat.is_taken = false;
                free_.push_back(&seat);
                return false;
            }
            if (!seat.is_taken) return true;
            if (waiting_.empty()) {
                seat.is_taken = false;
                free_.push_back(&seat);
                return how_ == SeatThreads::kept;
            }
            next = std::move(waiting_.front());
            waiting_.pop_front();
        }
        // Here and not by a post, which may be refused: this is the loop's thread, between two
        // turns. Without the lock, which a session has no business to hold.
        core::contain(seat.loop->log(), "lab", "a connection", [&] { adopt(seat, *next); });
    }
    return true;
}

// Loops whose thread has ended run nothing that is posted to them. So each such loop gets a thread
// for one turn.
void ConnectionThreads::attend() {
    if (how_ == SeatThreads::kept) return;  // all of them are turned
    for (const auto& seat : seats_) {
        const bool posted = seat->loop->post([each = seat.get()] {
            ++each->heard;
            each->is_taken = true;  // one at rest is free again after this turn
        });
        const std::scoped_lock held(lock_);
        // A full mailbox is emptied all the same.
        if (posted) {
            ++seat->attended;
        } else {
            seat->only_empties = true;
        }
    }
    std::vector<Seat*> at_rest;
    {
        const std::scoped_lock held(lock_);
        // Connections that have left since are free with nothing to do.
        const auto idle = std::ranges::partition(free_, [](const Seat* seat) {
            return seat->heard == seat->attended && !seat->only_empties;
        });
        at_rest.assign(idle.begin(), idle.end());
        free_.erase(idle.begin(), idle.end());
    }
    for (Seat* seat : at_rest) {
        // Posts of that time wait for the next connection's thread.
        if (!start_thread(*seat)) give_back(*seat);
    }
}

Result<> ConnectionThreads::start() {
    const std::size_t kept = how_ == SeatThreads::kept ? seats_.size() : 0;
    return start_threads(kept, [this](std::size_t i) { serve(*seats_[i - 1]); });
}

void ConnectionThreads::run() {
    if (!started()) TR_CHECK(start().has_value(), "no thread for the pool");
    release_threads();
    loop(0).run();
    stop();
    join_threads();
    for (const auto& seat : seats_) {
        if (seat->thread.joinable()) seat->thread.join();
    }
    // No thread is left to serve them.
    waiting_.clear();
}

void ConnectionThreads::stop() {
    // Before the wake-ups: a thread that wakes looks at it.
    stopping_.store(true, std::memory_order_release);
    for (std::size_t i = 0; i < size(); ++i) loop(i).request_stop();
}

}  // namespace tiderace::lab::engine
