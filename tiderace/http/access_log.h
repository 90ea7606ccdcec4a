// RingAccessLog: one line per answered request into a log ring: common, combined or JSON.
//
// Owner    The program; one per loop, with a ring of its own.
// Thread   The loop's. publish() once a turn shows the writer what was logged.
// Errors   A full ring drops the line and counts it; a request never waits for its log line.
// Limits   A line is at most line_bytes_max; of each text that a peer chose, text_bytes_max are
//          kept.
// Memory   A ring of ring_bytes for each loop, as long as the log is open.
// Security Whatever a peer sent is escaped: no line, quote or terminal sequence can be forged.
// Keywords: access log, common log format, combined, JSON log
#pragma once

#include <string>

#include "tiderace/http/stages.h"
#include "tiderace/log/ring.h"

namespace tiderace::http {

class RingAccessLog final : public AccessLog {
  public:
    static constexpr std::size_t line_bytes_max = 8_KiB;
    // Half a second of 20,000 lines a second. A busy machine may not run the log's writer, or the
    // reader of its pipe, for that long.
    static constexpr std::size_t ring_bytes = 1_MiB;
    static constexpr std::size_t text_bytes_max = 1_KiB;

    RingAccessLog(log::Ring& ring, AccessLogFormat format) : ring_(&ring), format_(format) {}

    void write(const AccessRecord& record) override;
    void publish() { ring_->publish(); }

  private:
    class BoundedLine;

    void render_second(UnixSeconds second);
    void render_text(BoundedLine& line, const AccessRecord& record) const;
    void render_json(BoundedLine& line, const AccessRecord& record) const;

    log::Ring* ring_;
    AccessLogFormat format_;
    UnixSeconds second_ = -1;
    std::string time_text_;  // of second_, in the format's form
};

}  // namespace tiderace::http
