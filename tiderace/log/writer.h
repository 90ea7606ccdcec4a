// Writer: the one thread that takes lines out of the rings and gives them to the sinks.
//
//   Writer writer(time);
//   Stream& diagnostics = writer.add_stream("diagnostics", std::make_unique<ConsoleSink>(2));
//   auto file = FileSink::open({.path = "access.log"});
//   Stream& access = writer.add_stream("access", std::move(*file));
//   writer.start();
//   Logger logger(diagnostics.add_ring(64_KiB), time);
//
// It writes at once after idling, then every flush_interval or when a ring passes half full, and
// sleeps without a timeout when there is nothing. Producers make no system call except to end that
// sleep, and at half full. A full pipe is written to as soon as its reader made room. The first
// stream reports faults: dropped lines (while that happens, once a minute for each
// stream), failed and recovered sinks, reopened files, and the lines lost at the end.
//
// Owner    Owns streams, sinks, rings and the thread. main makes it; it dies after all producers.
// Thread   reopen, set_flush_interval: any, and signal handlers. Counters: any. All else: the one
//          that made it.
// Errors   A sink's failure blocks no producer: its lines wait in their rings and are retried. When
//          memory runs out, so do they.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "tiderace/base/result.h"
#include "tiderace/base/units.h"
#include "tiderace/log/doorbell.h"
#include "tiderace/log/logger.h"
#include "tiderace/log/sink.h"
#include "tiderace/log/stream.h"
#include "tiderace/log/time_source.h"

namespace tiderace::log {

struct WriterOptions {
    // How long a line may wait while the writer is busy; also how often a sink in trouble is
    // retried. Longer means fewer and larger writes.
    Duration flush_interval = 100ms;
    std::size_t batch_bytes_max = 256_KiB;  // for one write to a sink; one line may be longer
    Duration room_patience = 1s;            // a pipe that stays full longer counts as failed
    Duration stop_patience = 1s;            // how long stop() retries sinks in trouble
    Format format = Format::text;           // of what the writer itself says
};

class Writer {
  public:
    // `time` stamps what the writer says, on its thread; it outlives the writer.
    explicit Writer(TimeSource& time, WriterOptions options = {});
    Writer(const Writer&) = delete;
    Writer& operator=(const Writer&) = delete;
    ~Writer();

    // Before start, at least one; the first also takes what the writer has to say.
    Stream& add_stream(std::string name, std::unique_ptr<Sink> sink);
    // Any but the first, whose rings nothing writes to any more. Its lines are written, then it is
    // gone; a sink in trouble loses them.
    void end_stream(Stream& stream);

    Result<> start();
    // Writes all published lines, and ends the thread. Idempotent. Publishing stays
    // legal, but later lines are never written.
    void stop();

    // Reopens every sink, after writing the lines published before.
    void reopen();

    // On any thread: from now on.
    void set_flush_interval(Duration interval);

    // The sum over all streams, also ended ones. On any thread.
    struct Losses {
        std::uint64_t lines_dropped = 0;  // for which a ring had no room
        std::uint64_t write_errors = 0;
    };
    Losses losses();

    // How often the thread woke, and whether it sleeps until called.
    std::uint64_t wakeups() const { return doorbell_.wakeups(); }
    bool idle() const { return doorbell_.idle(); }

  private:
    void run();
    Stream::Drained try_pass();
    Stream::Drained pass();
    void take_changes();
    void end_streams();
    void sleep(Stream::Drained drained);
    void sleep_for(Duration duration);
    void drain_for_the_last_time(Stream::Drained drained);
    bool something_to_do() const;
    void reopen_sinks();
    void report_trouble(Stream& stream);
    std::optional<Duration> until_drops_reported(const Stream& stream) const;
    void report_dropped(Stream& stream);
    template <typename Report>
    void report_at_last(Report&& report);
    void report_losses();

    TimeSource& time_;
    const WriterOptions options_;
    std::atomic<Duration> flush_interval_;
    Doorbell doorbell_;
    // For the next three, and for changes of streams_.
    std::mutex changing_;
    Losses of_ended_;
    std::vector<std::unique_ptr<Stream>> new_streams_;
    std::vector<Stream*> ended_streams_;
    std::atomic<bool> streams_change_ = false;
    std::vector<std::unique_ptr<Stream>> streams_;  // once it runs, the thread's
    std::vector<Stream*> ending_streams_;           // the thread's: they end after this pass
    std::optional<BasicLogger<Level::trace>> notices_;
    std::atomic<bool> reopen_wanted_ = false;
    std::atomic<bool> stop_wanted_ = false;
    bool reopening_ = false;  // the thread's: a pass that fails leaves it to the next
    std::thread thread_;
};

}  // namespace tiderace::log
