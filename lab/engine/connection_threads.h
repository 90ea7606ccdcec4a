// ConnectionThreads: loops that have a thread and one connection each, and a first loop that takes
// the connections and has none. The engines `threads` and `pool` use it.
//
//   first loop: acceptors -> a free seat (its loop's mailbox)  -> the seat's thread serves it to
//                         \-> none: the bounded queue          ->  its end, then takes the next
//                         \-> full: the refusal (a 503)            of the queue
//
//   kept      every seat has its thread from the beginning; connections wait in the queue
//   one_each  a thread is started for each connection and ends with it; nothing waits
//
// Owner    serve(). Thread: as net::LoopGroup.
// Errors   A thread that cannot be started, a mailbox that is full, and no memory for either are a
//          connection refused; its seat serves the next one.
// Limits   As many connections as seats, and IntakeOptions::waiting_max that wait.
// Memory   A loop with its blocking backend for each seat.
#pragma once

#include <atomic>
#include <deque>
#include <mutex>

#include "lab/engine/blocking_backend.h"
#include "tiderace/net/loop_group.h"

namespace tiderace::lab::engine {

enum class SeatThreads : std::uint8_t { kept, one_each };

class ConnectionThreads final : public net::LoopGroup {
  public:
    // `seats` and the first loop.
    static Result<std::unique_ptr<net::LoopGroup>> create(std::size_t seats, SeatThreads threads,
                                                          const core::LoopOptions& options);
    ~ConnectionThreads() override;

    Result<> start() override;
    void run() override;
    void stop() override;
    std::unique_ptr<net::Intake> make_intake(std::vector<net::Intake::Target> targets,
                                             const net::IntakeOptions& options) override;
    void attend() override;

  private:
    class ThreadIntake;
    struct Seat;
    // A connection on its way to a thread; closed wherever it ends. Shared by its post and by the
    // first loop, which takes it back where no thread comes to run that.
    struct Arrived {
        core::Address peer;
        std::shared_ptr<const std::vector<net::Intake::Target>> targets;
        bool layered = false;
        core::Descriptor descriptor = {};
    };
    using ArrivedPtr = std::shared_ptr<Arrived>;

    ConnectionThreads(std::vector<std::unique_ptr<core::EventLoop>> loops,
                      std::vector<std::unique_ptr<Seat>> seats, SeatThreads threads);

    bool take(const ArrivedPtr& arrived, const net::IntakeOptions& options);
    bool keep_waiting(const ArrivedPtr& arrived, const net::IntakeOptions& options);
    bool give(Seat& seat, const ArrivedPtr& arrived);
    static void adopt(Seat& seat, Arrived& arrived);
    void give_back(Seat& seat);
    std::deque<ArrivedPtr> give_up_waiting();
    bool start_thread(Seat& seat);
    void serve(Seat& seat);
    bool has_more(Seat& seat);

    const SeatThreads how_;
    std::vector<std::unique_ptr<Seat>> seats_;
    std::atomic<bool> stopping_ = false;
    std::mutex lock_;  // guards the next two
    std::vector<Seat*> free_;
    std::deque<ArrivedPtr> waiting_;
};

}  // namespace tiderace::lab::engine
