#include "tiderace/core/timer_wheel.h"

#include <bit>

#include "tiderace/base/check.h"

namespace tiderace::core {
namespace {

constexpr std::uint64_t tick_ns = 1'000'000;

// Between any two instants; unsigned, because a signed difference could overflow.
std::uint64_t ns_between(Instant from, Instant to) {
    return static_cast<std::uint64_t>(to.time_since_epoch().count()) -
           static_cast<std::uint64_t>(from.time_since_epoch().count());
}

Instant later(Instant than, std::uint64_t by_ns) {
    const auto ns = static_cast<std::uint64_t>(than.time_since_epoch().count()) + by_ns;
    return Instant(Duration(static_cast<Duration::rep>(ns)));
}

}  // namespace

Timer::~Timer() {
    if (wheel_ != nullptr) wheel_->cancel(*this);
}

TimerWheel::TimerWheel(Instant start) : start_(start), now_(start) {}

TimerWheel::~TimerWheel() {
    TR_CHECK(!advancing_, "a timer wheel ended inside one of its callbacks");
    while (const auto position = first_occupied()) {
        overdue_.splice_back(levels_[position->level].slots[position->slot]);
        vacate(*position);
    }
    while (!overdue_.empty()) overdue_.pop_front().wheel_ = nullptr;
}

void TimerWheel::arm(Timer& timer, Instant when) {
    if (timer.wheel_ != nullptr) {
        TR_CHECK(timer.wheel_ == this, "the timer is armed in another wheel");
        take_out(timer);
    } else {
        timer.wheel_ = this;
        ++armed_count_;
    }
    if (when <= now_) {
        timer.tick_ = tick_;
        // Not fired here: its owner may be in the middle of a change.
        overdue_.push_back(timer);
    } else {
        timer.tick_ = due_tick(when);
        place(timer);
    }
}

void TimerWheel::cancel(Timer& timer) {
    if (timer.wheel_ == nullptr) return;
    TR_CHECK(timer.wheel_ == this, "the timer is armed in another wheel");
    take_out(timer);
    timer.wheel_ = nullptr;
    --armed_count_;
}

std::optional<Instant> TimerWheel::next_wake() const {
    // Between two calls due_ holds timers only after a callback threw: the rest of that round.
    if (!overdue_.empty() || !due_.empty()) return now_;
    const auto position = first_occupied();
    if (!position) return std::nullopt;
    return end_of(first_tick_of(*position));
}

Instant Timer::due() const {
    TR_CHECK(armed(), "due() of a timer that is not armed");
    return wheel_->end_of(tick_);
}

Instant TimerWheel::end_of(Tick tick) const {
    // The last tick ends after the last Instant.
    if (tick > ns_between(start_, Instant::max()) / tick_ns) return Instant::max();
    return later(start_, tick * tick_ns);
}

std::size_t TimerWheel::advance(Instant now) {
    TR_CHECK(!advancing_, "advance() inside a callback");
    struct Advancing {
        ~Advancing() { wheel.advancing_ = false; }  // also where a callback throws
        TimerWheel& wheel;
    } const advancing{*this};
    // Timers that callbacks arm for the past go to overdue_ and fire in the next call, so one that
    // re-arms itself cannot keep the loop here.
    advancing_ = true;
    due_.splice_back(overdue_);
    if (now > now_) {
        now_ = now;
        collect_until(present_tick(now));
    }
    return fire_due();
}

// Rounded up, so that the tick's end is not before the deadline.
TimerWheel::Tick TimerWheel::due_tick(Instant when) const {
    const std::uint64_t ns = ns_between(start_, when);
    return ns / tick_ns + (ns % tick_ns != 0 ? 1 : 0);
}

TimerWheel::Tick TimerWheel::present_tick(Instant now) const {
    if (now == Instant::max()) return due_tick(now);  // there is no later moment to round up to
    return ns_between(start_, now) / tick_ns;
}

// The level is the highest digit (of 6 bits) in which `tick` and the present one differ, the slot
// is that digit of `tick`. So every timer of a level is later than all timers of lower levels, and
// nothing has to move while time is inside a slot.
TimerWheel::Position TimerWheel::position_of(Tick tick) const {
    const auto difference = static_cast<unsigned>(std::bit_width((tick ^ tick_) | 1) - 1);
    const unsigned level = difference / level_bits;
    return {level, static_cast<unsigned>(tick >> (level * level_bits)) % slots_per_level};
}

TimerWheel::Tick TimerWheel::first_tick_of(Position position) const {
    const unsigned shift = position.level * level_bits;
    // The digits above this level are the same as the present tick's: a slot is always ahead of it.
    const Tick above = tick_ >> (shift + level_bits) << (shift + level_bits);
    return above | (static_cast<Tick>(position.slot) << shift);
}

std::optional<TimerWheel::Position> TimerWheel::first_occupied() const {
    if (occupied_levels_ == 0) return std::nullopt;
    const auto level = static_cast<unsigned>(std::countr_zero(occupied_levels_));
    return Position{level, static_cast<unsigned>(std::countr_zero(levels_[level].occupied))};
}

// The bits of occupied slots let next_wake() find the first one without a walk.
void TimerWheel::place(Timer& timer) {
    const Position position = position_of(timer.tick_);
    Level& level = levels_[position.level];
    level.slots[position.slot].push_back(timer);
    level.occupied |= std::uint64_t{1} << position.slot;
    occupied_levels_ |= 1U << position.level;
}

void TimerWheel::take_out(Timer& timer) {
    timer.unlink();
    if (timer.tick_ <= tick_) return;  // it was in overdue_ or due_
    const Position position = position_of(timer.tick_);
    if (levels_[position.level].slots[position.slot].empty()) vacate(position);
}

void TimerWheel::vacate(Position position) {
    Level& level = levels_[position.level];
    level.occupied &= ~(std::uint64_t{1} << position.slot);
    if (level.occupied == 0) occupied_levels_ &= ~(1U << position.level);
}

// Goes from occupied slot to occupied slot. One of level 0 is a single tick and is due as a whole;
// of a higher one the first tick is due now and the rest finds its place further down.
void TimerWheel::collect_until(Tick tick) {
    while (const auto position = first_occupied()) {
        const Tick first = first_tick_of(*position);
        // Slots are ordered by time, so everything behind this one is also later.
        if (first > tick) break;
        IntrusiveList<Timer> found;
        found.splice_back(levels_[position->level].slots[position->slot]);
        vacate(*position);
        tick_ = first;
        if (position->level == 0) {
            due_.splice_back(found);
            continue;
        }
        while (!found.empty()) {
            Timer& timer = found.pop_front();
            // The level's slot began: of its ticks only the first is due. Each of the others moves
            // down a level at least, so a timer moves at most seven times.
            if (timer.tick_ == first) {
                due_.push_back(timer);
            } else {
                place(timer);
            }
        }
    }
    tick_ = tick;
}

// A callback may take any timer out of due_, so each round starts at its front. Timers that
// callbacks arm go elsewhere, so this ends.
std::size_t TimerWheel::fire_due() {
    std::size_t fired = 0;
    while (!due_.empty()) {
        Timer& timer = due_.pop_front();
        timer.wheel_ = nullptr;
        --armed_count_;
        ++fired;
        timer.on_expired();  // may have destroyed the timer
    }
    return fired;
}

}  // namespace tiderace::core
