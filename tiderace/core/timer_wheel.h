// Internal. TimerWheel: a million deadlines, each armed, refreshed and cancelled in constant time.
//
//   level 0   64 slots of   1 ms    [ . x . . x . ]     a timer lies on the lowest level whose
//   level 1   64 slots of  64 ms    [ . . . x . . ]     slots tell its tick from the present one;
//   level 2   64 slots of 4.1 s     [ . x . . . . ]     when time reaches its slot it moves down
//   …         8 levels, 8,900 years, so no deadline is too far
//
// A bit per slot says "occupied", so time may jump: a step costs what it finds, never a tick each.
//
// Owner    Owns nothing. A Timer that dies leaves the wheel; a wheel that dies disarms its timers.
// Thread   One; not synchronised.
// Limits   1 ms ticks: a timer fires in the first advance() to the end of its tick, so never early
//          and up to 1 ms late. Deadlines are any Instant; Instant::max() is 292 years off.
// Memory   8 KiB a wheel, 40 bytes a Timer, nothing else.
// Keywords: timer wheel, time-out, timers
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "tiderace/base/intrusive_list.h"
#include "tiderace/base/units.h"

namespace tiderace::core {

class TimerWheel;

// Derive, or make it a member: on_expired() runs at the deadline.
class Timer : private ListHook {
  public:
    Timer() = default;
    Timer(const Timer&) = delete;
    Timer& operator=(const Timer&) = delete;
    virtual ~Timer();

    bool armed() const { return wheel_ != nullptr; }
    // While armed: the end of the tick it fires in, so never before the moment it was armed for.
    Instant due() const;

  private:
    friend class TimerWheel;
    template <typename T>
    friend class tiderace::IntrusiveList;

    // Called by advance() with the timer no longer armed. May arm, cancel and destroy any timer of
    // the wheel, this one and those due in the same advance() too; not advance() or end the wheel.
    virtual void on_expired() = 0;

    TimerWheel* wheel_ = nullptr;  // while armed
    std::uint64_t tick_ = 0;       // while armed: the tick it is due at
};
static_assert(sizeof(void*) != 8 || sizeof(Timer) == 40);

class TimerWheel final {
  public:
    explicit TimerWheel(Instant start);
    TimerWheel(const TimerWheel&) = delete;
    TimerWheel& operator=(const TimerWheel&) = delete;
    ~TimerWheel();

    // Arms, or arms anew, `timer` for `when`. A deadline that has passed (even one armed for "now"
    // by a callback) fires in the next advance(), never in here. The timer is this wheel's or no
    // wheel's.
    void arm(Timer& timer, Instant when);
    // Nothing happens to a timer that is not armed.
    void cancel(Timer& timer);

    // When advance() has something to do: at most the earliest deadline, rounded up to its tick.
    // It may be earlier where that timer must move down a level first, which happens at most seven
    // times in a timer's life. In the past: at once. nullopt: nothing is armed.
    std::optional<Instant> next_wake() const;

    // Moves to `now` and fires what is due; returns how many. Order: first what was armed for the
    // past, then tick by tick; within these, first armed first. A `now` that stands still or goes
    // back counts as the latest one seen.
    std::size_t advance(Instant now);

    std::size_t armed_count() const { return armed_count_; }

  private:
    using Tick = std::uint64_t;  // whole milliseconds since `start_`
    static constexpr unsigned level_bits = 6;
    static constexpr unsigned levels = 8;
    static constexpr unsigned slots_per_level = 1U << level_bits;

    struct Position {
        unsigned level;
        unsigned slot;
    };
    struct Level {
        std::uint64_t occupied = 0;  // bit n: slots[n] is not empty
        std::array<IntrusiveList<Timer>, slots_per_level> slots;
    };

    friend class Timer;

    Tick due_tick(Instant when) const;
    Instant end_of(Tick tick) const;
    Tick present_tick(Instant now) const;
    Position position_of(Tick tick) const;
    Tick first_tick_of(Position position) const;
    std::optional<Position> first_occupied() const;
    void place(Timer& timer);
    void take_out(Timer& timer);
    void vacate(Position position);
    void collect_until(Tick tick);
    std::size_t fire_due();

    const Instant start_;
    Instant now_;
    Tick tick_ = 0;  // all ticks up to and with this one have been collected
    std::size_t armed_count_ = 0;
    bool advancing_ = false;
    std::uint32_t occupied_levels_ = 0;  // bit n: levels_[n].occupied != 0
    IntrusiveList<Timer> overdue_;       // armed for the past; due in the next advance()
    IntrusiveList<Timer> due_;           // being fired by the present advance()
    std::array<Level, levels> levels_;
};

}  // namespace tiderace::core
