#include "tiderace/serve/log_files.h"

#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <string_view>
#include <system_error>

#include "tiderace/log/console_sink.h"
#include "tiderace/log/file_sink.h"

namespace tiderace::serve {
namespace {

std::string_view advice_for(int code) {
    if (code == ENOENT) return "its folder must exist";
    // Where the file is opened with root's rights (LogFileOptions::open).
    if (code == ELOOP) return "root follows no link in a folder of others; name the file itself";
    return "";
}

}  // namespace

// The diagnostics come first: the first stream takes what the writer itself has to say.
LogFiles::LogFiles(LogFileOptions options)
    : options_(std::move(options)),
      writer_(time_, {.flush_interval = options_.flush_interval}),
      diagnostics_(
          &writer_.add_stream("diagnostics", std::make_unique<log::ConsoleSink>(STDERR_FILENO))) {
    files_["off"] = nullptr;
}

std::unique_ptr<log::Logger> LogFiles::make_logger(log::Level level) {
    return std::make_unique<log::Logger>(diagnostics_->add_ring(64_KiB), time_,
                                         log::LoggerOptions{.level = level});
}

Result<> LogFiles::open(const std::string& path) {
    if (streams_.contains(path)) return {};
    std::error_code fault;
    const bool is_word = path == "-" || path == "off";
    const std::string file =
        is_word ? path : std::filesystem::weakly_canonical(path, fault).string();
    // Two writers of one file would mix their lines, and rotation by one would pull the file away
    // from the other.
    if (!files_.contains(file)) {
        auto opened = open_stream(path);
        if (!opened) return fail(opened.error());
        files_[file] = *opened;
    }
    streams_[path] = files_[file];
    return {};
}

Result<log::Stream*> LogFiles::open_stream(const std::string& path) {
    std::unique_ptr<log::Sink> sink;
    if (path == "-") {
        sink = std::make_unique<log::ConsoleSink>(STDOUT_FILENO);
    } else {
        log::FileSinkOptions file{.path = path, .rotate_bytes = options_.rotate_bytes};
        if (options_.files_kept) file.files_kept = static_cast<unsigned>(*options_.files_kept);
        if (options_.open) file.open = options_.open;
        auto opened = log::FileSink::open(std::move(file));
        if (!opened) {
            const int code = opened.error().code();
            return fail(Error(code, "open access log", path, advice_for(code)));
        }
        sink = std::move(*opened);
    }
    return &writer_.add_stream("access", std::move(sink));
}

http::AccessLog* AccessLogs::find(const http::AccessLogTarget& target) {
    log::Stream* const stream = files_->stream(target.path);
    if (stream == nullptr) return nullptr;
    const auto key = std::pair(stream, target.format);
    if (const auto known = logs_.find(key); known != logs_.end()) return &known->second;
    log::Ring& ring = stream->add_ring(http::RingAccessLog::ring_bytes);
    return &logs_.try_emplace(key, ring, target.format).first->second;
}

void AccessLogs::publish() {
    for (auto& [key, log] : logs_) log.publish();
}

}  // namespace tiderace::serve
