// Internal. H2Scheduler: which stream sends next (RFC 9218, section 10).
//
//   urgency 0  [ s1 s2 s3 ]      the first stream of the most urgent bucket that has one
//   …                            incremental streams go to the back after each turn and so share
//   urgency 7  [ s9 ]            the line; the others keep it until they are done
//
// Owner    Owns nothing: a stream that can send something derives from H2Scheduled and is in it.
// Thread   One at a time.
// Limits   As many streams as there are. Every operation is O(1).
// Memory   Sixteen pointers.
// Keywords: priority, multiplexing
#pragma once

#include <array>
#include <bit>
#include <cstdint>

#include "tiderace/base/intrusive_list.h"
#include "tiderace/http/wire/h2/priority.h"

namespace tiderace::http::wire {

// Leaves the scheduler by unlink(), also when it dies.
class H2Scheduled : public ListHook {
  public:
    H2Priority priority() const { return priority_; }

  private:
    template <typename Stream>
    friend class H2Scheduler;
    H2Priority priority_;
};

// Stream derives from H2Scheduled.
template <typename Stream>
class H2Scheduler {
  public:
    // `stream` has something to send, and leave to. Adding what is in already does nothing.
    void add(Stream& stream) {
        if (stream.linked()) return;
        const unsigned urgency = stream.H2Scheduled::priority_.urgency;
        buckets_[urgency].push_back(stream);
        occupied_ = static_cast<std::uint8_t>(occupied_ | 1U << urgency);
    }
    // In whatever bucket it is; also before it is added.
    void set_priority(Stream& stream, H2Priority priority) {
        const bool was_in = stream.linked();
        static_cast<ListHook&>(stream).unlink();
        stream.H2Scheduled::priority_ = priority;
        if (was_in) add(stream);
    }
    // The stream whose turn it is, or nullptr.
    Stream* next() {
        while (occupied_ != 0) {
            auto& bucket = buckets_[static_cast<unsigned>(std::countr_zero(occupied_))];
            if (!bucket.empty()) return &bucket.front();
            occupied_ = static_cast<std::uint8_t>(occupied_ & (occupied_ - 1));
        }
        return nullptr;
    }
    bool empty() { return next() == nullptr; }
    // `stream` sent a piece and has more: its turn is over if it is incremental.
    void sent_piece(Stream& stream) {
        if (!stream.linked() || !stream.H2Scheduled::priority_.incremental) return;
        static_cast<ListHook&>(stream).unlink();
        add(stream);
    }
    // `stream` has nothing to send, or no leave to.
    void remove(Stream& stream) { static_cast<ListHook&>(stream).unlink(); }
    // `stream` leaves, and will be another one.
    static void forget(Stream& stream) {
        static_cast<ListHook&>(stream).unlink();
        stream.H2Scheduled::priority_ = {};
    }

  private:
    std::array<IntrusiveList<Stream>, 8> buckets_;
    std::uint8_t occupied_ = 0;  // a bit for each bucket that may have a stream
};

}  // namespace tiderace::http::wire
