// Load pacer: which request may be sent when.
//
// Closed loop: at once, as long as there is budget. Open loop: request i is due at start + i / rate
// whatever the server does; its latency counts from that moment, so a server that stalls
// is charged for all requests due meanwhile (no coordinated omission). With a ramp the rate
// rises evenly from 0, so that i requests are due after sqrt(2 * i * ramp / rate).
//
// Thread   One worker's. Pure: time is handed in.
#pragma once

#include <cmath>
#include <cstdint>
#include <optional>
#include <vector>

#include "tiderace/base/units.h"

namespace tiderace::load {

class LoadPacer {
  public:
    // rate: requests a second, 0: closed loop. requests_max: 0: no bound.
    LoadPacer(double rate, std::uint64_t requests_max, Duration ramp = Duration::zero())
        : rate_(rate),
          ramp_s_(std::chrono::duration<double>(ramp).count()),
          requests_max_(requests_max > 0 ? requests_max : UINT64_MAX) {}

    void begin(Instant start) { start_ = start; }

    // The moment the next request was meant for, if it may be sent now.
    std::optional<Instant> take(Instant now) {
        if (!returned_.empty()) {
            const Instant intended = returned_.back();
            returned_.pop_back();
            return intended;
        }
        if (taken_ == requests_max_) return std::nullopt;
        if (rate_ == 0) {
            ++taken_;
            return now;
        }
        const Instant due = due_at(taken_);
        if (due > now) return std::nullopt;
        ++taken_;
        return due;
    }
    // Returns a request that the server left unread when it closed in order; it is sent again.
    void give_back(Instant intended) { returned_.push_back(intended); }

    // When take() gives the next one, if that is not yet so; nothing: it would give one now, or
    // none is left.
    std::optional<Instant> next_due(Instant now) const {
        if (rate_ == 0 || !returned_.empty() || taken_ == requests_max_) return std::nullopt;
        const Instant due = due_at(taken_);
        return due > now ? std::optional(due) : std::nullopt;
    }
    // Whether take() would give one.
    bool is_due(Instant now) const {
        if (!returned_.empty()) return true;
        return taken_ < requests_max_ && (rate_ == 0 || due_at(taken_) <= now);
    }
    bool exhausted() const { return returned_.empty() && taken_ == requests_max_; }
    bool open_loop() const { return rate_ > 0; }
    // In an open loop: how many were due by `now` and not taken.
    std::uint64_t overdue(Instant now) const {
        if (rate_ == 0 || now < start_) return 0;
        const double seconds = std::chrono::duration<double>(now - start_).count();
        const auto due =
            static_cast<std::uint64_t>(seconds < ramp_s_ ? rate_ * seconds * seconds / (2 * ramp_s_)
                                                         : rate_ * (seconds - ramp_s_ / 2));
        const std::uint64_t bounded = due < requests_max_ ? due : requests_max_;
        return (bounded > taken_ ? bounded - taken_ : 0) + returned_.size();
    }

  private:
    Instant due_at(std::uint64_t index) const {
        const auto i = static_cast<double>(index);
        const double in_ramp = rate_ * ramp_s_ / 2;  // requests
        const double seconds =
            i < in_ramp ? std::sqrt(2 * i * ramp_s_ / rate_) : ramp_s_ / 2 + i / rate_;
        return start_ + Duration(static_cast<std::int64_t>(seconds * 1e9));
    }

    double rate_;
    double ramp_s_;
    std::uint64_t requests_max_;
    std::uint64_t taken_ = 0;
    Instant start_{};
    std::vector<Instant> returned_;
};

}  // namespace tiderace::load
