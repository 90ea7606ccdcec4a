// Logger: the front of the diagnostics log for one thread.
//
//   logger.info("net", "listening", log::field("address", "[::]:8080"), log::field("loops", 4));
//
// Scope and text are the program's own words; what comes from peers belongs in fields. Rendering
// goes straight into the ring: no copy, no allocation, no lock, no system call unless the writer
// idles.
//
// Owner    The code that sets up the thread. Borrows ring and time.
// Thread   The ring's producer. set_level and level: any.
// Errors   A full ring drops the record, counts it, and the log reports the number later.
#pragma once

#include <array>
#include <atomic>
#include <concepts>
#include <cstdint>
#include <optional>
#include <span>

#include "tiderace/log/field.h"
#include "tiderace/log/level.h"
#include "tiderace/log/rate_limited.h"
#include "tiderace/log/record.h"
#include "tiderace/log/ring.h"
#include "tiderace/log/time_source.h"

namespace tiderace::log {

enum class Publish : std::uint8_t {
    each_record,  // a thread that is not a loop
    by_owner,     // a loop: at the end of its turn, by publish(). Warnings and errors go at once.
};

struct LoggerOptions {
    Level level = Level::info;  // below it, a call costs a load and a compare
    Format format = Format::text;
    Publish publish = Publish::each_record;
    // Instead of `level`, for loggers of several threads; it outlives them.
    const std::atomic<Level>* shared_level = nullptr;
};

// Renders into the ring and commits; does not publish.
void put_record(Ring& ring, const Record& record, Format format);

// Calls below `floor` compile to nothing.
template <Level floor>
class BasicLogger {
  public:
    BasicLogger(Ring& ring, TimeSource& time, LoggerOptions options = {})
        : ring_(ring), time_(time), options_(options), level_(options.level) {}
    BasicLogger(const BasicLogger&) = delete;
    BasicLogger& operator=(const BasicLogger&) = delete;

    void trace(std::string_view scope, ByteView text, const std::same_as<Field> auto&... fields) {
        write<Level::trace>(scope, text, fields...);
    }
    void debug(std::string_view scope, ByteView text, const std::same_as<Field> auto&... fields) {
        write<Level::debug>(scope, text, fields...);
    }
    void info(std::string_view scope, ByteView text, const std::same_as<Field> auto&... fields) {
        write<Level::info>(scope, text, fields...);
    }
    void warning(std::string_view scope, ByteView text, const std::same_as<Field> auto&... fields) {
        write<Level::warning>(scope, text, fields...);
    }
    void error(std::string_view scope, ByteView text, const std::same_as<Field> auto&... fields) {
        write<Level::error>(scope, text, fields...);
    }

    // The same with a level and fields that are known at run time.
    void write(Level level, std::string_view scope, ByteView text, std::span<const Field> fields) {
        if (!enabled(level)) return;
        put_record(ring_, {time_.unix_ms(), level, scope, text, fields}, options_.format);
        if (options_.publish == Publish::each_record || level >= Level::warning) publish();
    }

    // Asked before a line of this kind: nullopt if a logger of the ring's stream logged one within
    // the last second, otherwise the number of lines that were left out since.
    std::optional<std::uint64_t> may_log(Often what) {
        return ring_.events()[static_cast<std::size_t>(what)].ask(time_.unix_ms());
    }

    // Shows the writer what was logged since the last time. Cheap when that was nothing.
    void publish() { ring_.publish(); }

    Level level() const {
        const auto* const level = options_.shared_level;
        return (level != nullptr ? *level : level_).load(std::memory_order_relaxed);
    }
    void set_level(Level level) { level_.store(level, std::memory_order_relaxed); }
    bool enabled(Level level) const { return level >= floor && level >= this->level(); }

  private:
    template <Level level>
    void write(std::string_view scope, ByteView text, const std::same_as<Field> auto&... fields) {
        if constexpr (level >= floor) {
            if (level < this->level()) return;
            const std::array<Field, sizeof...(fields)> all{fields...};
            write(level, scope, text, all);
        }
    }

    Ring& ring_;
    TimeSource& time_;
    const LoggerOptions options_;
    std::atomic<Level> level_;
};

using Logger = BasicLogger<compiled_floor>;

}  // namespace tiderace::log
