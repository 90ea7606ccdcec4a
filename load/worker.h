// LoadWorker: the clients of one loop, and what came of them.
//
// Owner    LoadThreads; the plan outlives it.
// Thread   run() on a thread of its own. Others call stop() and progress().
// Limits   opening_max connections are being opened at once, so that the run does not
//          measure the server's accept queue.
// Memory   LoadConnection for each connection, and the tally.
#pragma once

#include <atomic>
#include <deque>
#include <memory>
#include <string>
#include <vector>

#include "load/connection.h"
#include "load/pace_ticks.h"
#include "load/pacer.h"
#include "load/plan.h"
#include "load/progress.h"
#include "load/tally.h"
#include "load/tls.h"
#include "tiderace/net/connector.h"

namespace tiderace::load {

// Which answers' latency is recorded: answers that came while the window was open, or, without one,
// all.
enum class LatencyWindow : std::uint8_t { none, open, closed };

class LoadWorker final : private core::Timer, private PaceTicks::Receiver {
  public:
    struct Share {
        std::uint64_t first_connection = 0;
        std::uint64_t connections = 0;
        std::uint64_t requests = 0;  // 0: no bound
        double rate = 0;
    };
    static constexpr std::size_t opening_max = 128;
    // With more connections than that, none of which closes by itself, no request is sent until all
    // are open or none has opened for this long, because a server that is busy answering accepts
    // few. It waits at most gathering_max, because servers close silent connections.
    static constexpr Duration opening_patience = 1s;
    static constexpr Duration gathering_max = 8s;

    // Fails as LoadTls::create does.
    static Result<std::unique_ptr<LoadWorker>> create(const LoadPlan& plan, Share share);
    ~LoadWorker();

    // Until the time is over, the requests are answered, or stop().
    void run();
    // Any thread.
    void stop() { stop_.store(true, std::memory_order_relaxed); }
    LoadProgress progress() const { return shown_.read(); }
    // Any thread, in the order of the values. Earlier records are dropped.
    void set_latency_window(LatencyWindow to) { window_.store(to, std::memory_order_relaxed); }

    // After run().
    const LoadTally& tally() const { return tally_; }
    // CPU time of its thread while requests were sent, and before that.
    Duration cpu() const { return cpu_; }
    Duration gathering_cpu() const { return gathering_cpu_; }
    Duration elapsed() const { return elapsed_; }

    std::string_view engine() const { return loop_->backend().name(); }
    // HTTPS: the handshakes that failed, by kind; nullptr: there were none to make.
    const tls::HandshakeCounters* handshakes() const {
        return tls_ != nullptr ? &tls_->counters() : nullptr;
    }

    // For its connections.
    const LoadPlan& plan() const { return *plan_; }
    core::EventLoop& loop() { return *loop_; }
    net::Connector& connector() { return *connector_; }
    net::TransportLayer* layer() { return tls_.get(); }  // nullptr: in clear text
    std::string& arena() { return arena_; }
    LoadTally& tally() { return tally_; }
    LoadPacer& pacer() { return pacer_; }
    Instant now() const { return now_; }  // as read_clock() returned last
    Instant read_clock() { return now_ = loop_->clock().now(); }
    // It may send: now, or when something is due.
    void has_room(LoadConnection& connection);
    void wants_to_open(LoadConnection& connection);
    void connect_done(LoadConnection& connection);
    bool records_latency() {
        const LatencyWindow now = window_.load(std::memory_order_relaxed);
        if (now != window_seen_) enter_window(now);
        return now != LatencyWindow::closed;
    }
    bool is_gathering() const { return gathering_; }
    void count_open(int change);
    void count_under_way(std::int64_t change) { under_way_ += change; }
    // The server left it unread. It is sent on any connection with room.
    void give_back(Instant intended);

  private:
    LoadWorker(const LoadPlan& plan, Share share, std::unique_ptr<core::EventLoop> loop,
               std::unique_ptr<LoadTls> tls);

    void on_expired() override;  // checks the time, time-outs and the next due request
    void on_tick() override;
    void begin_asking();
    void let_in(Instant now);
    Instant next_look(Instant now) const;
    void open_more();
    void enter_window(LatencyWindow now);
    void publish();
    void shut_down();

    const LoadPlan* plan_;
    Share share_;
    std::unique_ptr<core::EventLoop> loop_;
    std::unique_ptr<LoadTls> tls_;
    LoadPacer pacer_;
    LoadTally tally_;
    std::vector<std::unique_ptr<LoadConnection>> connections_;
    std::unique_ptr<net::Connector> connector_;
    std::string arena_;
    std::deque<LoadConnection*> idle_;     // open loop: those with room, longest first
    std::deque<LoadConnection*> to_open_;  // behind opening_max
    std::unique_ptr<PaceTicks> ticks_;
    std::size_t let_in_ = 0;  // connections that may open: all, once the ramp is over
    Instant now_{};
    Instant start_{};
    Instant end_{};
    Instant look_{};  // next time-out sweep
    std::int64_t open_ = 0;
    std::int64_t under_way_ = 0;
    std::size_t opening_ = 0;
    Duration cpu_before_{};
    Duration gathering_cpu_{};
    Duration cpu_{};
    Duration elapsed_{};
    std::uint64_t opened_seen_ = 0;  // while gathering
    Instant opened_last_{};
    bool gathering_ = false;  // connections, before the first request
    bool ending_ = false;
    LatencyWindow window_seen_ = LatencyWindow::none;
    std::atomic<LatencyWindow> window_ = LatencyWindow::none;
    std::atomic<bool> stop_ = false;
    LoadProgress seen_;
    ShownProgress shown_;
};

}  // namespace tiderace::load
