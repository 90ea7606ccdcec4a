// Internal. ProgressRate: how many bytes a peer must move in each period so that it does not count
// as stalled, and for how long the bytes that it moved suffice. LagClock: the time that a peer has
// left which takes what we send slowly.
//
// Thread   Any; values.
// Keywords: slowloris, slow client, minimum rate, stalled reader
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>

#include "tiderace/base/units.h"

namespace tiderace::net {

struct ProgressRate {
    Duration period;
    std::uint64_t bytes_per_second_min = 0;  // over each period; 0: one byte is enough

    // In one period; at least one byte.
    std::uint64_t bytes_wanted() const {
        const auto period_ms = static_cast<std::uint64_t>(period / 1ms);
        constexpr auto most = std::numeric_limits<std::uint64_t>::max();
        // More than any peer can move: an option may be as large as its type.
        if (period_ms > 0 && bytes_per_second_min > most / period_ms) return most;
        return std::max<std::uint64_t>(1, bytes_per_second_min * period_ms / 1'000);
    }
    // Whether `moved` bytes in one period are enough.
    bool is_met_by(std::uint64_t moved) const { return moved >= bytes_wanted(); }

    // How long the peer may be silent after it moved so many bytes: moved ÷ rate, because a TCP
    // window opens in steps of tens of kilobytes, which a slow reader takes minutes for. At most
    // ten periods, so that a fast start does not pay for hours. Zero: it is late.
    Duration time_for(std::uint64_t moved) const {
        if (moved == 0) return Duration::zero();
        if (bytes_per_second_min == 0) return period;
        const Duration most = period > Duration::max() / 10 ? Duration::max() : period * 10;
        const std::uint64_t ms = moved > std::numeric_limits<std::uint64_t>::max() / 1'000
                                     ? std::numeric_limits<std::uint64_t>::max()
                                     : moved * 1'000 / bytes_per_second_min;
        return ms >= static_cast<std::uint64_t>(most / 1ms) ? most : ms * 1ms;
    }
};

// `taken` is a count of bytes that grows. The clock keeps its low half, and milliseconds, because
// each connection has one.
class LagClock {
  public:
    // The peer lags from now on. Time that it was granted before goes on. What it took up to now
    // counts: its system took that at once, perhaps, and its window opens when it has read it.
    void begin(Instant now, const ProgressRate& rate, std::uint64_t taken) {
        const Instant before = due(now);
        const bool goes_on = before != Instant::max() && before > now;
        if (!goes_on) mark_ = static_cast<std::uint32_t>(taken - counted(taken));
        grant(now, goes_on ? std::max<Duration>(before - now, rate.period) : rate.period);
    }
    void stop() { granted_ms_ = 0; }
    // When it is due. False: the peer is late.
    bool check(Instant now, const ProgressRate& rate, std::uint64_t taken) {
        // Right modulo 2^32. The upper half is a fast reader's, or a count that fell a little
        // because something was sent that it lacks yet; one period more will show.
        const std::uint32_t moved = static_cast<std::uint32_t>(taken) - mark_;
        const Duration more = moved >> 31 == 0 ? rate.time_for(moved) : rate.period;
        if (more < 1ms) return false;
        mark_ = static_cast<std::uint32_t>(taken);
        grant(now, more);
        return true;
    }
    // Instant::max(): it does not run, or the peer has all the time.
    Instant due(Instant now) const {
        if (!runs() || granted_ms_ == for_ever) return Instant::max();
        return Instant(std::chrono::milliseconds(began(now) + granted_ms_));
    }
    // Since the peer began to lag, or was checked last.
    Duration waits(Instant now) const {
        return runs() ? std::chrono::milliseconds(whole_ms(now) - began(now)) : 0ms;
    }

  private:
    static constexpr auto for_ever = std::numeric_limits<std::uint32_t>::max();

    bool runs() const { return granted_ms_ != 0; }
    // The part that counts of the bytes that were taken before the peer lagged. Nothing for a count
    // below zero, as TLS has while records are sent and not acknowledged: they are longer than the
    // bytes in them. More than fits beside what is taken next would look like a count that fell.
    static std::uint64_t counted(std::uint64_t taken) {
        return taken >> 63 != 0 ? 0 : std::min(taken, std::uint64_t{1} << 30);
    }
    static std::int64_t whole_ms(Instant now) {
        return std::chrono::ceil<std::chrono::milliseconds>(now.time_since_epoch()).count();
    }
    std::int64_t began(Instant now) const {
        const std::int64_t now_ms = whole_ms(now);
        return now_ms - (static_cast<std::uint32_t>(now_ms) - began_ms_);
    }
    void grant(Instant now, Duration time) {
        began_ms_ = static_cast<std::uint32_t>(whole_ms(now));
        // More than a month is for ever.
        const auto ms =
            std::chrono::ceil<std::chrono::milliseconds>(std::min<Duration>(time, 720h));
        granted_ms_ = ms < 720h ? static_cast<std::uint32_t>(std::max<std::int64_t>(1, ms.count()))
                                : for_ever;
    }

    std::uint32_t began_ms_ = 0;
    std::uint32_t granted_ms_ = 0;  // 0: it does not run
    std::uint32_t mark_ = 0;
};

}  // namespace tiderace::net
