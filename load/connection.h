// LoadConnection: one client of the load: connects, sends requests, checks every answer, connects
// again.
//
//   idle --slot free--> connecting [--> securing] --> open --leave(), a timeout--> ending
//    ^                      |               |           |                            |
//    +------ refused -------+--- on_close --+-----------+----------------------------+
//
// Owner    A LoadWorker, for the whole run; the worker's Connector owns its net::Connection.
// Thread   The worker's loop.
// Errors   Everything the server does wrong is counted in the worker's tally, once per request.
// Memory   About 400 bytes, 200 more while open, 8 (HTTP/2: 130) for each request under way.
#pragma once

#include <memory>

#include "load/dialogue.h"
#include "load/paced_queue.h"
#include "load/tally.h"
#include "tiderace/base/result.h"
#include "tiderace/net/connection.h"

namespace tiderace::load {

class LoadWorker;

class LoadConnection final : private net::Session,
                             private LoadDialogue::Client,
                             private core::Timer {
  public:
    LoadConnection(LoadWorker& worker, std::uint64_t number);

    // Connects, if it is not connected or connecting.
    void start();
    // Sends up to `most` requests that are due and that there is room for.
    void send(std::size_t most);
    bool has_room() const {
        return phase_ == Phase::open && pause_ != Pause::thinking && paced_.empty() &&
               dialogue_->room() > 0;
    }
    // Gives up what takes longer than the timeout.
    void check_timeout(Instant now);
    // Closes; nothing is counted as an error from here on.
    void end();

    bool is_idle_listed = false;  // the worker's mark: in its list of those with room
    std::uint64_t answers() const { return answers_; }

  private:
    enum class Phase : std::uint8_t {
        idle,  // not connected; the timer may run until the next try
        connecting,
        securing,
        open,
        ending,  // no more requests on this connection
    };
    // The purpose of a connection's running timer.
    enum class Pause : std::uint8_t {
        none,
        thinking,     // until the next request
        not_reading,  // a slow reader
        dripping,     // a slow sender, until its next bytes
    };

    static bool may_follow(Phase from, Phase to);
    void enter(Phase next);
    bool is_open() const { return phase_ == Phase::open || phase_ == Phase::ending; }

    // net::Session
    std::size_t on_data(net::Connection&, ByteView data) override;
    void on_secured(net::Connection&) override;
    void on_drained(net::Connection&) override;
    void on_peer_finished(net::Connection&) override;
    void on_close(net::Connection&, net::CloseReason reason) override;
    // LoadDialogue::Client
    void say(ByteView bytes, LoadDialogue::Part part) override;
    void lend(ByteView bytes, LoadDialogue::Part part) override;
    std::size_t unsent() const override;
    void answered(const LoadAnswer& answer, Instant intended) override;
    void failed(LoadError error, Instant intended) override;
    void give_back(Instant intended) override;
    void failed_waiting(LoadError error) override;
    void failed_besides(LoadError error) override;
    void found(std::string_view fault) override;
    void leave() override;
    void room_changed() override {}  // room is checked after all received bytes are handled

    void on_expired() override;  // the next try, the next request, the next read, the next drop

    void on_made(Result<net::Connection*> made);
    void open();
    LoadError judge(const LoadAnswer& answer) const;
    void after_hearing(std::size_t bytes);
    void failed_to_open(ConnectError error);
    void try_again_later();
    bool is_slow_part(LoadDialogue::Part part) const;
    void drip();

    LoadWorker* worker_;
    net::Connection* connection_ = nullptr;
    std::unique_ptr<LoadDialogue> dialogue_;
    LoadPacedQueue paced_;
    std::uint64_t answers_ = 0;
    std::uint64_t number_;
    Instant now_{};          // when the bytes in hand were received
    Instant since_{};        // of the last progress
    Instant resumed_{};      // since then the server's time runs, and no pause of ours
    Instant think_until_{};  // of --think, which outlasts the connection
    Duration retry_ = Duration::zero();
    bool slow_reader_ = false;
    bool slow_sender_ = false;
    Phase phase_ = Phase::idle;
    Pause pause_ = Pause::none;
    bool run_over_ = false;
    bool answered_now_ = false;   // by the bytes in hand
    bool answered_once_ = false;  // on this connection
};

}  // namespace tiderace::load
