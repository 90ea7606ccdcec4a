// AccessLogs: the access logs of one loop: one for each path that has its own (--path-log), and the
// one of --access-log for all others. The longest path counts.
//
//   record -> the first path that it is below -> its ring, or none (off)
//          \> no such path -> the ring of --access-log, or none
//
// Owner    A worker. The streams outlive it.
// Thread   The loop's. publish() once a turn.
// Limits   RingAccessLog's, and its ring for each file.
#pragma once

#include <functional>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "server/options.h"
#include "server/path/path_table.h"
#include "tiderace/base/result.h"
#include "tiderace/http/access_log.h"
#include "tiderace/log/stream.h"
#include "tiderace/log/writer.h"

namespace tiderace::server {

class AccessLogs final : public http::AccessLog {
  public:
    struct Place {
        std::string prefix;             // "/api": for it and all below it; "": all
        log::Stream* stream = nullptr;  // nullptr: off
    };

    // The last place of `places` counts among those with one prefix.
    AccessLogs(log::Stream* otherwise, std::span<const Place> places, http::AccessLogFormat format);

    void write(const http::AccessRecord& record) override;
    void publish();

  private:
    http::RingAccessLog* log_of(log::Stream* stream, http::AccessLogFormat format);

    std::map<log::Stream*, http::RingAccessLog> logs_;
    PathTable<http::RingAccessLog*> places_;
    http::RingAccessLog* otherwise_;
};

// The files of --access-log and --path-log, each once.
std::vector<std::string> access_log_files(const ServeOptions& options);

struct OpenedAccessLogs {
    log::Stream* otherwise = nullptr;
    std::vector<AccessLogs::Place> places;
};
// One stream of the writer for each file. `open` opens files; {}: the usual way. Fails with the
// file that cannot be opened.
Result<OpenedAccessLogs> open_access_logs(const ServeOptions& options, log::Writer& writer,
                                          const std::function<int(const std::string&)>& open);

}  // namespace tiderace::server
