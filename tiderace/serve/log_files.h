// LogFiles: where a server logs: what goes wrong to standard error or a file, requests to the files
// of its access logs. Each file is opened once, however often and in whatever spelling it is named.
// AccessLogs: the access logs of one loop.
//
// Owner    LogFiles: the server; it outlives the loops. AccessLogs: what serves on the loop.
// Thread   LogFiles: the one that makes the server; while it serves, open(), set_rotation() and
//          close_all_but() one at a time, stream() on any. AccessLogs: the loop's.
// Errors   open(): a file that cannot be opened, and what to do.
// Limits   http/access_log.h, of each ring.
#pragma once

#include <atomic>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <tuple>

#include "tiderace/base/result.h"
#include "tiderace/base/units.h"
#include "tiderace/http/access_log.h"
#include "tiderace/log/file_sink.h"
#include "tiderace/log/logger.h"
#include "tiderace/log/time_source.h"
#include "tiderace/log/writer.h"

namespace tiderace::serve {

struct LogFileOptions {
    // Of what goes wrong. "": standard error; otherwise as open().
    std::string diagnostics = {};
    log::Format format = log::Format::text;
    // The level of make_logger(), whatever it is given; it may change at any time. nullptr: no.
    const std::atomic<log::Level>* level = nullptr;
    Duration flush_interval = log::WriterOptions{}.flush_interval;
    std::uint64_t rotate_bytes = 0;  // 0: never rotated by size
    std::optional<std::uint64_t> files_kept = {};
    // Opens a file, where the server has given its rights up; {}: the usual way.
    std::function<int(const std::string&)> open = {};
};

class LogFiles {
  public:
    explicit LogFiles(LogFileOptions options = {});

    // Before all else, where LogFileOptions::diagnostics names a file.
    Result<> open_diagnostics();
    // "-": standard output; "off": nowhere; a file, appended to. Also while the writer runs.
    Result<> open(const std::string& path);
    // Holds for open files and later ones.
    void set_rotation(std::uint64_t rotate_bytes, std::optional<std::uint64_t> files_kept);
    // Closes all access logs but these. Each loop has forgotten the others before.
    void close_all_but(std::span<const std::string> paths);
    // nullptr: "off". open() has opened it.
    log::Stream* stream(const std::string& path) const;
    // For one thread: its ring is its own.
    std::unique_ptr<log::Logger> make_logger(log::Level level = log::Level::info);
    log::Writer& writer() { return writer_; }

  private:
    log::Stream& diagnostics();
    bool is_open(const std::string& path) const;
    unsigned kept() const;
    Result<log::Stream*> open_stream(const std::string& path, const char* name);

    LogFileOptions options_;
    log::SystemTime time_;
    log::Writer writer_;
    log::Stream* diagnostics_ = nullptr;
    // Loops look for a log when a request first needs it, while others may be opened.
    mutable std::mutex looking_;                          // for streams_
    std::map<std::string, log::Stream*> streams_;         // by the path as it was given
    std::map<std::string, log::Stream*> files_;           // by the file that it is
    std::map<const log::Stream*, log::FileSink*> sinks_;  // of these
};

class AccessLogs {
  public:
    explicit AccessLogs(const LogFiles& files) : files_(&files) {}

    // All logs of a file share a ring: its lines keep their order, and each ring takes memory.
    // LogFiles has opened the target. nullptr: "off".
    http::AccessLog* find(const http::AccessLogTarget& target);
    bool empty() const { return logs_.empty(); }
    // All but these, to which no request is logged any more.
    void forget_all_but(std::span<const std::string> paths);
    // Once a turn and not once a line, so that a busy loop wakes the writer's thread seldom.
    void publish();

  private:
    const LogFiles* files_;
    using Key = std::tuple<log::Stream*, http::AccessLogFormat, http::AccessLogRules>;
    std::map<Key, http::RingAccessLog> logs_;
    std::map<log::Stream*, log::Ring*> rings_;
};

}  // namespace tiderace::serve
