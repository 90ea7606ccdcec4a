#include "tiderace/log/writer.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <iterator>
#include <new>
#include <utility>

#include "tiderace/base/check.h"
#include "tiderace/base/signals_blocked.h"
#include "tiderace/base/thread_name.h"
#include "tiderace/base/thread_refusal.h"

namespace tiderace::log {
namespace {

constexpr std::size_t notices_ring_bytes = 16_KiB;
constexpr Duration last_retry_interval = 10ms;
constexpr Duration dropped_interval = 1min;  // between two reports of one stream's drops

}  // namespace

Writer::Writer(TimeSource& time, WriterOptions options)
    : time_(time), options_(options), flush_interval_(options.flush_interval) {}

Writer::~Writer() {
    stop();
}

Stream& Writer::add_stream(std::string name, std::unique_ptr<Sink> sink) {
    if (thread_.joinable()) {
        auto stream = std::make_unique<Stream>(std::move(name), std::move(sink), doorbell_);
        const std::lock_guard lock(changing_);
        new_streams_.push_back(std::move(stream));
        streams_change_.store(true, std::memory_order_release);
        doorbell_.ring();
        return *new_streams_.back();
    }
    streams_.push_back(std::make_unique<Stream>(std::move(name), std::move(sink), doorbell_));
    if (!notices_) {
        Ring& ring = streams_.front()->add_ring(notices_ring_bytes);
        notices_.emplace(ring, time_, LoggerOptions{.format = options_.format});
    }
    return *streams_.back();
}

void Writer::end_stream(Stream& stream) {
    const std::lock_guard lock(changing_);
    ended_streams_.push_back(&stream);
    streams_change_.store(true, std::memory_order_release);
    doorbell_.ring();
}

// Before the drain: a stream that ends later may have lines that the drain does not see.
void Writer::take_changes() {
    const std::lock_guard lock(changing_);
    streams_.reserve(streams_.size() + new_streams_.size());
    ending_streams_.reserve(ending_streams_.size() + ended_streams_.size());
    // Nothing below fails, so a change is taken whole or is left to the next pass.
    std::ranges::move(new_streams_, std::back_inserter(streams_));
    std::ranges::copy(ended_streams_, std::back_inserter(ending_streams_));
    new_streams_.clear();
    ended_streams_.clear();
    streams_change_.store(false, std::memory_order_relaxed);
}

// After the drain.
void Writer::end_streams() {
    const std::lock_guard lock(changing_);
    for (const Stream* const ended : std::exchange(ending_streams_, {})) {
        of_ended_.lines_dropped += ended->dropped();
        of_ended_.write_errors += ended->troubles();
        std::erase_if(streams_, [&](const auto& stream) { return stream.get() == ended; });
    }
}

Writer::Losses Writer::losses() {
    const std::lock_guard lock(changing_);
    Losses all = of_ended_;
    for (const auto* const streams : {&streams_, &new_streams_}) {
        for (const std::unique_ptr<Stream>& stream : *streams) {
            all.lines_dropped += stream->dropped();
            all.write_errors += stream->troubles();
        }
    }
    return all;
}

Result<> Writer::start() {
    TR_CHECK(!streams_.empty(), "add a stream first");
    TR_CHECK(!thread_.joinable() && !stop_wanted_, "a writer is started once");
    if (Result<> opened = doorbell_.open(); !opened) return opened;
    // The thread blocks all signals: the main thread handles them, and SIGPIPE is ignored.
    const int refused = thread_refusal([this] {
        const SignalsBlocked blocked;
        thread_ = std::thread([this] { run(); });
    });
    if (refused == 0) return {};
    return fail(Error(refused, "start", "the log's thread",
                      "no further thread is allowed: raise the limit (ulimit -u, pids.max of the "
                      "cgroup)"));
}

void Writer::stop() {
    if (!thread_.joinable()) return;
    stop_wanted_.store(true, std::memory_order_release);
    doorbell_.ring();
    thread_.join();
}

void Writer::reopen() {
    reopen_wanted_.store(true, std::memory_order_release);
    doorbell_.ring();
}

void Writer::set_flush_interval(Duration interval) {
    flush_interval_.store(interval, std::memory_order_relaxed);
    doorbell_.ring();
}

//   idle --rung: lines, reopen(), stop()--> pass --lines were taken, or are left--> flush_interval
//     ^                                      |  ^                                       |
//     +--nothing came, nothing to report-----+  +---------------------------------------+
//
// After stop() a last pass, and stop_patience for sinks in trouble.
void Writer::run() {
    name_this_thread("tiderace-log");
    for (;;) {
        // Looked at before the pass, so that the last pass sees all that was published before
        // stop().
        const bool last = stop_wanted_.load(std::memory_order_acquire);
        const Stream::Drained drained = try_pass();
        if (last) return drain_for_the_last_time(drained);
        sleep(drained);
    }
}

void Writer::sleep(Stream::Drained drained) {
    // While lines come, a batch for each interval. An idle log waits for the doorbell and costs
    // nothing.
    if (drained.some || drained.left) {
        return sleep_for(flush_interval_.load(std::memory_order_relaxed));
    }
    std::optional<Duration> report;
    for (const std::unique_ptr<Stream>& stream : streams_) {
        const auto until = until_drops_reported(*stream);
        if (until) report = report ? std::min(*report, *until) : *until;
    }
    if (report) return sleep_for(*report);
    doorbell_.sleep_until_rung([this] { return something_to_do(); });
}

void Writer::sleep_for(Duration duration) {
    std::array<int, Doorbell::room_max> room;
    std::size_t count = 0;
    // More streams than that wait for their interval.
    for (const std::unique_ptr<Stream>& stream : streams_) {
        if (stream->room_at() >= 0 && count < room.size()) room[count++] = stream->room_at();
    }
    doorbell_.sleep_for(duration, {room.data(), count});
}

void Writer::drain_for_the_last_time(Stream::Drained drained) {
    const auto end = std::chrono::steady_clock::now() + options_.stop_patience;
    while (drained.left && std::chrono::steady_clock::now() < end) {
        sleep_for(last_retry_interval);
        drained = try_pass();
    }
    report_losses();
}

bool Writer::something_to_do() const {
    return reopen_wanted_.load(std::memory_order_relaxed) ||
           streams_change_.load(std::memory_order_relaxed) ||
           stop_wanted_.load(std::memory_order_relaxed) ||
           std::any_of(streams_.begin(), streams_.end(), [](const std::unique_ptr<Stream>& stream) {
               return !stream->empty() || stream->dropped() != stream->dropped_reported_;
           });
}

// Without memory the lines are still in their rings, and the next pass tries again.
Stream::Drained Writer::try_pass() {
    try {
        return pass();
    } catch (const std::bad_alloc&) {
        return {.some = false, .left = true};
    }
}

Stream::Drained Writer::pass() {
    if (reopen_wanted_.exchange(false, std::memory_order_acquire)) reopening_ = true;
    if (streams_change_.load(std::memory_order_acquire)) take_changes();
    Stream::Drained drained;
    const auto drain = [&](Stream& stream) {
        const Stream::Drained one = stream.drain(options_.batch_bytes_max, options_.room_patience);
        drained.some = drained.some || one.some;
        drained.left = drained.left || one.left;
        return one;
    };
    for (const std::unique_ptr<Stream>& stream : streams_) {
        drain(*stream);
        report_trouble(*stream);
        if (until_drops_reported(*stream) == Duration::zero()) report_dropped(*stream);
    }
    // After the drain: lines of before the rotation belong to the file of before.
    if (!ending_streams_.empty()) end_streams();
    if (reopening_) reopen_sinks();
    reopening_ = false;
    // Again: the notices of this pass went there after its turn.
    drain(*streams_.front());
    return drained;
}

void Writer::reopen_sinks() {
    for (const std::unique_ptr<Stream>& stream : streams_) {
        if (const Result<> reopened = stream->reopen(); reopened) {
            notices_->info("log", "reopened", field("stream", stream->name()));
        } else {
            notices_->error("log", "cannot reopen, the old file stays in use",
                            field("stream", stream->name()),
                            field("error", reopened.error().message()));
        }
    }
}

void Writer::report_trouble(Stream& stream) {
    if (stream.trouble_.has_value() == stream.trouble_reported_) return;
    if (stream.trouble_) {
        notices_->error("log", "trouble with a sink, lines wait in memory",
                        field("stream", stream.name()), field("error", stream.trouble_->message()));
    } else {
        notices_->warning("log", "the sink works again", field("stream", stream.name()),
                          field("troubles", stream.troubles()));
        report_dropped(stream);  // what the trouble has cost in all
    }
    // The last: a report that fails for lack of memory is repeated.
    stream.trouble_reported_ = stream.trouble_.has_value();
}

// None: every dropped line was reported. Zero: report now.
std::optional<Duration> Writer::until_drops_reported(const Stream& stream) const {
    if (stream.dropped() == stream.dropped_reported_) return std::nullopt;
    const Duration since =
        std::chrono::milliseconds(time_.unix_ms() - stream.dropped_reported_at_ms_);
    // The calendar may have been set back.
    if (since < Duration::zero() || since >= dropped_interval) return Duration::zero();
    return dropped_interval - since;
}

void Writer::report_dropped(Stream& stream) {
    const std::uint64_t dropped = stream.dropped();
    if (dropped == stream.dropped_reported_) return;
    notices_->warning("log", "records dropped, the ring was full", field("stream", stream.name()),
                      field("count", dropped - stream.dropped_reported_));
    stream.dropped_reported_ = dropped;
    stream.dropped_reported_at_ms_ = time_.unix_ms();
}

// Lack of memory often passes at once. Each report is tried twice, so that one that fails does not
// keep back the others. `report` returns whether it is done.
template <typename Report>
void Writer::report_at_last(Report&& report) {
    for (int tries = 0; tries < 2; ++tries) {
        try {
            if (report()) return;
        } catch (const std::bad_alloc&) {
            // Tried again.
        }
        sleep_for(last_retry_interval);
    }
}

// The first stream comes last: it takes what there is to say about the others.
void Writer::report_losses() {
    for (auto stream = streams_.rbegin(); stream != streams_.rend(); ++stream) {
        report_at_last([&] { return report_dropped(**stream), true; });
        if (*stream == streams_.front()) break;
        const std::uint64_t lost = (*stream)->give_up();
        if (lost == 0) continue;
        report_at_last([&] {
            notices_->error("log", "records lost at the end, the sink did not take them",
                            field("stream", (*stream)->name()), field("count", lost));
            return true;
        });
    }
    report_at_last([&] {
        return !streams_.front()->drain(options_.batch_bytes_max, options_.room_patience).left;
    });
}

}  // namespace tiderace::log
