// Internal. Ring: the lines of one producer on their way to the log's writer. Bounded, and never in
// the way.
//
//   producer  reserve -> render into it -> commit -> (…) -> publish      plain stores, one release
//   writer    readable -> sink -> consume                                no copy in between
//
//   [ .. free .. | tail = consumed, … published, … written | free, or skipped at the lap's end ]
//
// A reservation is one piece of memory: when the end of the ring is too near, the rest is skipped.
//
// Owner    Its Stream. The producer borrows it and must be done before the Writer is destroyed.
// Thread   One producer at a time; one consumer, the writer.
// Errors   A full ring refuses and counts. It never waits.
// Memory   capacity_bytes, touched as it fills, and 256 bytes more.
// Keywords: lock-free, SPSC
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>

#include "tiderace/base/bytes.h"
#include "tiderace/base/loop_count.h"
#include "tiderace/log/doorbell.h"
#include "tiderace/log/rate_limited.h"

namespace tiderace::log {

class Ring {
  public:
    // A power of two. `events`: of the Stream, shared by its rings; nullptr: the ring has its own.
    Ring(std::size_t capacity_bytes, Doorbell& writer, RateLimitedEvents* events = nullptr);
    Ring(const Ring&) = delete;
    Ring& operator=(const Ring&) = delete;

    // The producer's side.
    //
    // Room for a line of up to bytes_max, or nullptr: full, and one more is counted as dropped. A
    // later reserve without commit takes the same room again.
    char* reserve(std::size_t bytes_max) {
        const std::uint64_t start = place_for(bytes_max);
        if (start + bytes_max - tail_seen_ > capacity_bytes_ && !make_room(start + bytes_max)) {
            return nullptr;
        }
        reserved_ = start;
        return memory_.get() + (start & mask_);
    }
    // Keeps the first `bytes` of the reservation: whole lines, ending in \n. 0 keeps nothing.
    void commit(std::size_t bytes) {
        if (bytes == 0) return;
        if (reserved_ != written_) skipped_from_ = written_;
        written_ = reserved_ + bytes;
        // A long turn must not fill the ring with unpublished lines.
        if (written_ - published_here_ > capacity_bytes_ / 2) publish();
    }
    // Shows the writer all that was committed; wakes it when it idles, or when this is more
    // than half full: then once for each time that it has taken something.
    void publish() {
        if (published_here_ != written_) show();
    }

    // What limits the lines of events that may come often.
    RateLimitedEvents& events() { return events_ != nullptr ? *events_ : own_events_; }

    // The writer's side.
    std::uint64_t published() const { return published_.load(std::memory_order_acquire); }
    bool empty() const { return published() == tail_.load(std::memory_order_relaxed); }
    // The next bytes in one piece, of those published before `end`; empty when there are none.
    ByteView readable(std::uint64_t end);
    void consume(std::size_t bytes);

    // Any thread.
    std::uint64_t dropped() const { return dropped_; }

  private:
    // Where bytes_max go: here, or at the start of the next lap.
    std::uint64_t place_for(std::size_t bytes_max) const {
        const std::uint64_t lap_left = capacity_bytes_ - (written_ & mask_);
        return bytes_max <= lap_left ? written_ : written_ + lap_left;
    }
    bool make_room(std::uint64_t end);
    void show();
    void call_writer();

    // Positions only grow; their place in memory is position & mask_.
    const std::size_t capacity_bytes_;
    const std::uint64_t mask_;
    const std::unique_ptr<char[]> memory_;
    Doorbell& writer_;
    RateLimitedEvents* const events_;
    RateLimitedEvents own_events_;

    alignas(64) std::uint64_t written_ = 0;  // the producer's own line
    std::uint64_t reserved_ = 0;
    std::uint64_t published_here_ = 0;
    std::uint64_t tail_seen_ = 0;
    std::uint64_t skipped_from_ = UINT64_MAX;  // read by the writer under published_'s release
    std::uint64_t called_at_tail_ = UINT64_MAX;
    LoopCount dropped_;

    alignas(64) std::atomic<std::uint64_t> published_ = 0;
    alignas(64) std::atomic<std::uint64_t> tail_ = 0;
};

}  // namespace tiderace::log
