// Internal. Stream: one destination of lines (diagnostics, the access log) with a ring for each
// producer.
//
// Lines of one ring keep their order; lines of different rings meet in the order of draining, so
// their times may differ by a flush interval.
//
// Owner    The Writer. Producers borrow rings.
// Thread   add_ring: any. drain, reopen: the writer's. Counters: any.
// Limits   rings_max.
#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "tiderace/base/units.h"
#include "tiderace/log/rate_limited.h"
#include "tiderace/log/ring.h"
#include "tiderace/log/sink.h"

namespace tiderace::log {

class Stream {
  public:
    static constexpr std::size_t rings_max = 2048;

    Stream(std::string name, std::unique_ptr<Sink> sink, Doorbell& writer);

    // A ring for one more producer. It lives as long as the Writer, so threads that come and go
    // hand theirs on. More than rings_max abort.
    Ring& add_ring(std::size_t capacity_bytes);

    const std::string& name() const { return name_; }
    // Lines refused by full rings; calls of the sink that reported trouble; bytes it took.
    std::uint64_t dropped() const;
    std::uint64_t troubles() const { return troubles_.load(std::memory_order_relaxed); }
    std::uint64_t bytes_written() const { return bytes_.load(std::memory_order_relaxed); }

    // The writer's side.
    //
    struct Drained {
        bool some = false;  // the sink took something
        bool left = false;  // it refused something
    };
    // Hands over what is published now, in pieces of whole lines up to batch_bytes_max. A sink that
    // waits for room is in trouble once it took nothing for room_patience.
    Drained drain(std::size_t batch_bytes_max, Duration room_patience = 1s);
    // Becomes writable when a sink that waits for room has some; -1: none waits.
    int room_at() const { return room_at_; }
    // Drops what no sink has taken, and returns how many lines that were.
    std::uint64_t give_up();
    Result<> reopen();
    bool empty() const;

  private:
    friend class Writer;

    bool drain(Ring& ring, std::size_t batch_bytes_max, Duration room_patience, Drained& drained);
    Sink::Written hand_over(ByteView lines, Duration room_patience);
    bool waits_for_room(const Sink::Written& written, Duration room_patience);

    const std::string name_;
    const std::unique_ptr<Sink> sink_;
    Doorbell& writer_;

    RateLimitedEvents events_;  // of all rings: how seldom lines of what comes often are logged
    std::mutex adding_;         // between add_ring and add_ring; the writer never takes it
    std::array<std::unique_ptr<Ring>, rings_max> rings_;
    std::atomic<std::size_t> ring_count_ = 0;
    std::size_t refused_ = 0;  // the ring whose line the sink may hold half of: it goes first

    std::atomic<std::uint64_t> troubles_ = 0;
    std::atomic<std::uint64_t> bytes_ = 0;

    int room_at_ = -1;
    std::optional<std::chrono::steady_clock::time_point> full_since_;  // took nothing since

    // What the Writer says about this stream, and what it has said.
    std::optional<Error> trouble_;
    bool trouble_reported_ = false;
    std::uint64_t dropped_reported_ = 0;
    std::int64_t dropped_reported_at_ms_ = 0;  // by the calendar; 0: never
};

}  // namespace tiderace::log
