// LoopParts: shared by the TLS connections of one loop and context: the buffer that records are
// opened into, the queue of handshakes that wait for their step, counters, the log.
//
//   established connections: opened and reported while the kernel's events are dispatched
//   handshakes:              their bytes wait; at the end of the turn steps_per_turn_max of them
//                            take a step, the rest in the next turn
//
// Owner    A context; outlives its transports.
// Thread   The loop's.
// Limits   steps_per_turn_max; log_lines_per_second_max.
// Memory   plain_bytes, from the first connection on.
#pragma once

#include <memory>
#include <span>
#include <string_view>

#include "tiderace/base/intrusive_list.h"
#include "tiderace/base/units.h"
#include "tiderace/core/event_loop.h"
#include "tiderace/tls/handshake_counters.h"

namespace tiderace::tls {

// Work that continues in its turn: a handshake, or a connection with much to send.
class Step : public ListHook {
  public:
    virtual void take_step() TR_ON_LOOP = 0;

  protected:
    ~Step() = default;
};

class LoopParts final : private core::TurnEnd {
  public:
    // Five records: the content of one receive of the loop.
    static constexpr std::size_t plain_bytes = 80_KiB;
    static constexpr std::uint32_t log_lines_per_second_max = 10;

    LoopParts(core::EventLoop& loop, std::size_t steps_per_turn_max, Duration handshake_timeout)
        : loop_(&loop),
          steps_per_turn_max_(steps_per_turn_max > 0 ? steps_per_turn_max : 1),
          handshake_timeout_(handshake_timeout) {}

    core::EventLoop& loop() { return *loop_; }
    Duration handshake_timeout() const { return handshake_timeout_; }
    void set_handshake_timeout(Duration timeout) { handshake_timeout_ = timeout; }
    // Valid until control returns to the loop, which reuses it.
    std::span<char> plain() TR_ON_LOOP;

    void step_later(Step& step) TR_ON_LOOP;
    // One step in the next turn, outside the handshakes' budget.
    void send_later(Step& step) TR_ON_LOOP;

    void count_done(bool is_tls_1_3, bool resumed, Duration took) TR_ON_LOOP;
    void count_failure(HandshakeFailure why, std::string_view words) TR_ON_LOOP;
    const HandshakeCounters& counters() const { return counters_; }

  private:
    void on_turn_end() TR_ON_LOOP override;
    void go_on_sending() TR_ON_LOOP;

    core::EventLoop* loop_;
    std::size_t steps_per_turn_max_;
    Duration handshake_timeout_;
    HandshakeCounters counters_;
    std::unique_ptr<char[]> plain_;
    IntrusiveList<Step> waiting_;  // handshakes
    IntrusiveList<Step> sending_;
    std::uint64_t turn_ = 0;     // the turn whose budget is being spent
    std::uint64_t sent_in_ = 0;  // the turn in which waiting senders were last served
    std::size_t steps_left_ = 0;
    UnixSeconds log_second_ = 0;
    std::uint32_t log_lines_ = 0;
};

}  // namespace tiderace::tls
