#include "server/path/access_logs.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <memory>
#include <system_error>

#include "tiderace/log/console_sink.h"
#include "tiderace/log/file_sink.h"

namespace tiderace::server {
namespace {

std::string_view advice_for(int code) {
    if (code == ENOENT) return "its folder must exist";
    // See RootFiles::open().
    if (code == ELOOP) return "root follows no link in a folder of others; name the file itself";
    return "";
}

}  // namespace

AccessLogs::AccessLogs(log::Stream* otherwise, std::span<const Place> places,
                       http::AccessLogFormat format)
    : otherwise_(log_of(otherwise, format)) {
    for (const Place& place : places) places_.set(place.prefix, log_of(place.stream, format));
}

http::RingAccessLog* AccessLogs::log_of(log::Stream* stream, http::AccessLogFormat format) {
    if (stream == nullptr) return nullptr;
    // Two prefixes may share a file, and then they share its ring.
    const auto found = logs_.find(stream);
    if (found != logs_.end()) return &found->second;
    return &logs_.try_emplace(stream, stream->add_ring(http::RingAccessLog::ring_bytes), format)
                .first->second;
}

// By the path that was requested and not by the file that was sent: a rule of --path-log is about
// what clients ask for, as all rules by path are.
void AccessLogs::write(const http::AccessRecord& record) {
    http::RingAccessLog* const* const found = places_.find(record.request->path);
    // A prefix that was found without a log ("off") has none, and not the site's.
    http::RingAccessLog* const log = found != nullptr ? *found : otherwise_;
    if (log != nullptr) log->write(record);
}

void AccessLogs::publish() {
    // Once a turn and not once a line, so that a busy loop wakes the writer's thread seldom.
    for (auto& [stream, log] : logs_) log.publish();
}

std::vector<std::string> access_log_files(const ServeOptions& options) {
    std::vector<std::string> files;
    const auto add = [&](const std::string& path) {
        const bool known = std::ranges::find(files, path) != files.end();
        if (path != "-" && path != "off" && !known) files.push_back(path);
    };
    add(options.access_log);
    for (const auto& log : options.paths.logs) add(log.file);
    return files;
}

Result<OpenedAccessLogs> open_access_logs(const ServeOptions& options, log::Writer& writer,
                                          const std::function<int(const std::string&)>& open) {
    // One file is opened once, whatever the number and spelling of the rules that name it, or its
    // rotation by one sink would pull it away from the other.
    std::map<std::string, log::Stream*> streams{{"off", nullptr}};
    const auto stream_of = [&](const std::string& path) -> Result<log::Stream*> {
        std::error_code fault;
        const std::string file = path == "-" || path == "off"
                                     ? path
                                     : std::filesystem::weakly_canonical(path, fault).string();
        if (const auto found = streams.find(file); found != streams.end()) return found->second;
        std::unique_ptr<log::Sink> sink;
        if (path == "-") {
            sink = std::make_unique<log::ConsoleSink>(STDOUT_FILENO);
        } else {
            log::FileSinkOptions file{.path = path, .rotate_bytes = options.log_rotate_bytes};
            if (options.log_files_kept) {
                file.files_kept = static_cast<unsigned>(*options.log_files_kept);
            }
            // Where root's rights are given up, rotation opens the next file through the helper
            // that keeps them.
            if (open) file.open = open;
            auto opened = log::FileSink::open(std::move(file));
            if (!opened) {
                const int code = opened.error().code();
                return fail(Error(code, "open access log", path, advice_for(code)));
            }
            sink = std::move(*opened);
        }
        return streams[file] = &writer.add_stream("access", std::move(sink));
    };
    OpenedAccessLogs all;
    const auto otherwise = stream_of(options.access_log);
    if (!otherwise) return fail(otherwise.error());
    all.otherwise = *otherwise;
    for (const auto& log : options.paths.logs) {
        const auto stream = stream_of(log.file);
        if (!stream) return fail(stream.error());
        all.places.push_back({log.prefix, *stream});
    }
    return all;
}

}  // namespace tiderace::server
