#include "tiderace/log/ring.h"

#include <algorithm>
#include <bit>

#include "tiderace/base/check.h"

namespace tiderace::log {

Ring::Ring(std::size_t capacity_bytes, Doorbell& writer, RateLimitedEvents* events)
    : capacity_bytes_(capacity_bytes),
      mask_(capacity_bytes - 1),
      memory_(std::make_unique_for_overwrite<char[]>(capacity_bytes)),
      writer_(writer),
      events_(events) {
    TR_CHECK(std::has_single_bit(capacity_bytes), "a ring's capacity is a power of two");
}

bool Ring::make_room(std::uint64_t end) {
    tail_seen_ = tail_.load(std::memory_order_acquire);
    // tail_seen_ is the producer's copy, read anew only here: the writer's counter is in another
    // cache line.
    if (end - tail_seen_ <= capacity_bytes_) return true;
    // What is committed and not shown yet may be what fills the ring.
    publish();
    call_writer();
    ++dropped_;
    return false;
}

void Ring::show() {
    published_here_ = written_;
    published_.store(written_, std::memory_order_release);
    if (written_ - tail_seen_ > capacity_bytes_ / 2) {
        tail_seen_ = tail_.load(std::memory_order_acquire);
    }
    call_writer();
}

void Ring::call_writer() {
    // Not only when half is crossed: the writer may have slept again having seen less than we have
    // written meanwhile, and then the fill never was below half for us to see.
    const bool above_half = written_ - tail_seen_ > capacity_bytes_ / 2;
    if (above_half && called_at_tail_ != tail_seen_) {
        called_at_tail_ = tail_seen_;
        writer_.ring();
    } else {
        writer_.ring_if_idle();
    }
}

ByteView Ring::readable(std::uint64_t end) {
    std::uint64_t tail = tail_.load(std::memory_order_relaxed);
    if (tail == end) return {};
    const std::uint64_t lap_end = (tail | mask_) + 1;
    std::uint64_t piece_end = end;
    if (end > lap_end) {
        // The producer is on the next lap. It cannot skip again before this one is consumed, so
        // its note belongs to this lap, or to an earlier one when it filled this lap completely.
        const bool skipped = skipped_from_ >= tail && skipped_from_ < lap_end;
        piece_end = skipped ? skipped_from_ : lap_end;
        // All of this lap is read: on with the next one, whose place is the ring's first byte
        // again.
        if (piece_end == tail) {
            tail = lap_end;
            tail_.store(tail, std::memory_order_release);
            piece_end = end;
        }
    }
    return {memory_.get() + (tail & mask_), static_cast<std::size_t>(piece_end - tail)};
}

void Ring::consume(std::size_t bytes) {
    tail_.store(tail_.load(std::memory_order_relaxed) + bytes, std::memory_order_release);
}

}  // namespace tiderace::log
