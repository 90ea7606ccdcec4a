#include "tiderace/serve/log_files.h"

#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <set>
#include <string>
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

// systemd.exec(5): JOURNAL_STREAM names the device and the inode of the journal's end.
bool leads_to_the_journal(int descriptor) {
    const char* const journal = std::getenv("JOURNAL_STREAM");
    struct stat is{};
    if (journal == nullptr || ::fstat(descriptor, &is) != 0) return false;
    return journal == std::to_string(is.st_dev) + ":" + std::to_string(is.st_ino);
}

LogFileOptions for_the_journal(LogFileOptions options) {
    const bool is_text = options.format == log::Format::text;
    if (is_text && options.diagnostics.empty() && leads_to_the_journal(STDERR_FILENO)) {
        options.format = log::Format::journal;
    }
    return options;
}

}  // namespace

LogFiles::LogFiles(LogFileOptions options)
    : options_(for_the_journal(std::move(options))),
      writer_(time_, {.flush_interval = options_.flush_interval, .format = options_.format}) {
    files_["off"] = nullptr;
}

// They come first: the first stream takes what the writer itself has to say.
log::Stream& LogFiles::diagnostics() {
    if (diagnostics_ == nullptr) {
        auto sink = std::make_unique<log::ConsoleSink>(STDERR_FILENO);
        diagnostics_ = &writer_.add_stream("diagnostics", std::move(sink));
    }
    return *diagnostics_;
}

Result<> LogFiles::open_diagnostics() {
    const std::string& path = options_.diagnostics;
    if (path.empty()) {
        diagnostics();
        return {};
    }
    if (path == "off") return fail(Error(EINVAL, "open log", path, "its level can be off"));
    auto opened = open_stream(path, "diagnostics");
    if (!opened) return fail(opened.error());
    diagnostics_ = *opened;
    std::error_code fault;
    files_[path == "-" ? path : std::filesystem::weakly_canonical(path, fault).string()] = *opened;
    return {};
}

std::unique_ptr<log::Logger> LogFiles::make_logger(log::Level level) {
    return std::make_unique<log::Logger>(
        diagnostics().add_ring(64_KiB), time_,
        log::LoggerOptions{
            .level = level, .format = options_.format, .shared_level = options_.level});
}

Result<> LogFiles::open(const std::string& path) {
    diagnostics();
    if (is_open(path)) return {};
    std::error_code fault;
    const bool is_word = path == "-" || path == "off";
    const std::string file =
        is_word ? path : std::filesystem::weakly_canonical(path, fault).string();
    // Two writers of one file would mix their lines, and rotation by one would pull the file away
    // from the other.
    if (!files_.contains(file)) {
        auto opened = open_stream(path, "access");
        if (!opened) return fail(opened.error());
        files_[file] = *opened;
    }
    const std::lock_guard held(looking_);
    streams_[path] = files_[file];
    return {};
}

log::Stream* LogFiles::stream(const std::string& path) const {
    const std::lock_guard held(looking_);
    return streams_.at(path);
}

bool LogFiles::is_open(const std::string& path) const {
    const std::lock_guard held(looking_);
    return streams_.contains(path);
}

void LogFiles::close_all_but(std::span<const std::string> paths) {
    const std::lock_guard held(looking_);
    std::set<const log::Stream*> named{diagnostics_, nullptr};
    for (const std::string& path : paths) {
        if (const auto known = streams_.find(path); known != streams_.end()) {
            named.insert(known->second);
        }
    }
    std::erase_if(streams_, [&](const auto& each) { return !named.contains(each.second); });
    for (auto file = files_.begin(); file != files_.end();) {
        if (named.contains(file->second)) {
            ++file;
            continue;
        }
        sinks_.erase(file->second);
        writer_.end_stream(*file->second);
        file = files_.erase(file);
    }
}

Result<log::Stream*> LogFiles::open_stream(const std::string& path, const char* name) {
    if (path == "-") {
        return &writer_.add_stream(name, std::make_unique<log::ConsoleSink>(STDOUT_FILENO));
    }
    auto opened = log::FileSink::open({.path = path,
                                       .rotate_bytes = options_.rotate_bytes,
                                       .files_kept = kept(),
                                       .open = options_.open});
    if (!opened) {
        const int code = opened.error().code();
        const bool is_access = std::string_view(name) == "access";
        return fail(
            Error(code, is_access ? "open access log" : "open log", path, advice_for(code)));
    }
    log::FileSink* const sink = opened->get();
    log::Stream& stream = writer_.add_stream(name, std::move(*opened));
    sinks_[&stream] = sink;
    return &stream;
}

unsigned LogFiles::kept() const {
    const unsigned usual = log::FileSinkOptions{}.files_kept;
    return options_.files_kept ? static_cast<unsigned>(*options_.files_kept) : usual;
}

void LogFiles::set_rotation(std::uint64_t rotate_bytes, std::optional<std::uint64_t> files_kept) {
    options_.rotate_bytes = rotate_bytes;
    options_.files_kept = files_kept;
    for (const auto& [stream, sink] : sinks_) sink->set_rotation(rotate_bytes, kept());
}

http::AccessLog* AccessLogs::find(const http::AccessLogTarget& target) {
    log::Stream* const stream = files_->stream(target.path);
    if (stream == nullptr) return nullptr;
    const Key key{stream, target.format, target.rules};
    if (const auto known = logs_.find(key); known != logs_.end()) return &known->second;
    log::Ring*& ring = rings_[stream];
    if (ring == nullptr) ring = &stream->add_ring(http::RingAccessLog::ring_bytes);
    return &logs_.try_emplace(key, *ring, target.format, target.rules).first->second;
}

void AccessLogs::forget_all_but(std::span<const std::string> paths) {
    std::set<const log::Stream*> named;
    for (const std::string& path : paths) named.insert(files_->stream(path));
    std::erase_if(logs_,
                  [&](const auto& each) { return !named.contains(std::get<0>(each.first)); });
    std::erase_if(rings_, [&](const auto& each) {
        if (named.contains(each.first)) return false;
        each.second->publish();
        return true;
    });
}

void AccessLogs::publish() {
    for (const auto& [stream, ring] : rings_) ring->publish();
}

}  // namespace tiderace::serve
