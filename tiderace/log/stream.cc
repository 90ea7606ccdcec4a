#include "tiderace/log/stream.h"

#include <algorithm>
#include <exception>
#include <utility>

#include "tiderace/base/check.h"

namespace tiderace::log {
namespace {

// The lines that `bytes` begins with, at most bytes_max but at least one.
ByteView whole_lines(ByteView bytes, std::size_t bytes_max) {
    if (bytes.size() <= bytes_max) return bytes;
    std::size_t last = bytes.rfind('\n', bytes_max - 1);
    if (last == ByteView::npos) last = bytes.find('\n', bytes_max);
    // Without any line end it is the rest of a line, of which the sink has taken the beginning.
    return bytes.substr(0, last == ByteView::npos ? bytes.size() : last + 1);
}

}  // namespace

Stream::Stream(std::string name, std::unique_ptr<Sink> sink, Doorbell& writer)
    : name_(std::move(name)), sink_(std::move(sink)), writer_(writer) {}

Ring& Stream::add_ring(std::size_t capacity_bytes) {
    const std::lock_guard lock(adding_);
    const std::size_t count = ring_count_.load(std::memory_order_relaxed);
    TR_CHECK(count < rings_max, "too many rings; threads that come and go share theirs");
    rings_[count] = std::make_unique<Ring>(capacity_bytes, writer_, &events_);
    ring_count_.store(count + 1, std::memory_order_release);
    return *rings_[count];
}

std::uint64_t Stream::dropped() const {
    std::uint64_t sum = 0;
    const std::size_t count = ring_count_.load(std::memory_order_acquire);
    for (std::size_t i = 0; i < count; ++i) sum += rings_[i]->dropped();
    return sum;
}

bool Stream::empty() const {
    const std::size_t count = ring_count_.load(std::memory_order_acquire);
    return std::all_of(rings_.begin(), rings_.begin() + static_cast<std::ptrdiff_t>(count),
                       [](const std::unique_ptr<Ring>& ring) { return ring->empty(); });
}

// A sink, as the writer sees it:
//
//   well --no room (a full pipe)--> waits --all is taken--> well
//    |                                |
//    | an error                       | not a byte taken for room_patience
//    v                                v
//   in trouble, which is reported once --all is taken--> well, which is reported as well
Sink::Written Stream::hand_over(ByteView lines, Duration room_patience) {
    Sink::Written written;
    try {
        // A sink may be the application's: what it throws must not end the log's thread.
        written = sink_->write(lines);
    } catch (const std::exception& thrown) {
        written = {0, Error(0, "write", name_, thrown.what())};
    } catch (...) {
        written = {0, Error(0, "write", name_, "the sink threw")};
    }
    TR_CHECK(written.bytes <= lines.size(), "a sink took more than it was given");
    bytes_.fetch_add(written.bytes, std::memory_order_relaxed);
    if (waits_for_room(written, room_patience)) {
        if (!trouble_reported_) trouble_.reset();  // else it lasts until all is taken
        return written;
    }
    if (written.trouble) troubles_.fetch_add(1, std::memory_order_relaxed);
    trouble_ = written.trouble;
    return written;
}

// A full pipe whose reader goes on is no trouble.
bool Stream::waits_for_room(const Sink::Written& written, Duration room_patience) {
    room_at_ = written.trouble ? written.room_at : -1;
    if (room_at_ < 0) {
        full_since_.reset();
        return false;
    }
    const auto now = std::chrono::steady_clock::now();
    if (!full_since_ || written.bytes > 0) full_since_ = now;
    return now - *full_since_ < room_patience;
}

std::uint64_t Stream::give_up() {
    std::uint64_t lines = 0;
    const std::size_t count = ring_count_.load(std::memory_order_acquire);
    for (std::size_t i = 0; i < count; ++i) {
        Ring& ring = *rings_[i];
        const std::uint64_t end = ring.published();
        for (ByteView bytes = ring.readable(end); !bytes.empty(); bytes = ring.readable(end)) {
            lines += static_cast<std::uint64_t>(std::ranges::count(bytes, '\n'));
            ring.consume(bytes.size());
        }
    }
    return lines;
}

bool Stream::drain(Ring& ring, std::size_t batch_bytes_max, Duration room_patience,
                   Drained& drained) {
    // Only what is published now: a fast producer must not keep the others waiting.
    const std::uint64_t end = ring.published();
    for (ByteView bytes = ring.readable(end); !bytes.empty(); bytes = ring.readable(end)) {
        const ByteView lines = whole_lines(bytes, batch_bytes_max);
        const Sink::Written written = hand_over(lines, room_patience);
        ring.consume(written.bytes);
        drained.some = drained.some || written.bytes != 0;
        if (written.bytes < lines.size()) {
            drained.left = true;
            return false;
        }
    }
    return true;
}

Stream::Drained Stream::drain(std::size_t batch_bytes_max, Duration room_patience) {
    Drained drained;
    const std::size_t count = ring_count_.load(std::memory_order_acquire);
    for (std::size_t i = 0; i < count; ++i) {
        // A sink that took half a line gets its rest first, before lines of other rings.
        const std::size_t number = (refused_ + i) % count;
        if (!drain(*rings_[number], batch_bytes_max, room_patience, drained)) {
            refused_ = number;
            break;
        }
    }
    return drained;
}

Result<> Stream::reopen() {
    try {
        return sink_->reopen();
    } catch (...) {
        return fail(Error(0, "reopen", name_, "the sink threw"));
    }
}

}  // namespace tiderace::log
