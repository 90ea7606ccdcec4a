// Internal. RingAccessLog: one line per answered request into a log ring: common, combined or JSON.
// SlowLog: requests that took long, into the loop's own log.
//
// Owner    The program; one per loop, with a ring of its own.
// Thread   The loop's. Its ring is published once a turn.
// Errors   A full ring drops the line and counts it; a request never waits for its log line.
// Limits   A line is at most line_bytes_max; of each text that a peer chose, text_bytes_max are
//          kept.
// Memory   A ring of ring_bytes for each loop, as long as the log is open.
// Security Whatever a peer sent is escaped: no line, quote or terminal sequence can be forged.
// Keywords: access log, common log format, combined, JSON log
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "tiderace/http/stages.h"
#include "tiderace/log/logger.h"
#include "tiderace/log/ring.h"

namespace tiderace::http {

// The members of a JSON line, in their order.
enum class LogField : std::uint8_t {
    time,
    request_id,
    site,
    peer,
    method,
    target,
    path,
    query,
    version,
    tls,
    host,
    status,
    route,
    bytes,
    bytes_in,
    duration_us,
    referer,
    user_agent,
    count_
};
constexpr std::uint32_t bit_of(LogField field) {
    return std::uint32_t{1} << static_cast<unsigned>(field);
}
// "duration_us", by LogField.
std::span<const std::string_view> log_field_names();

class RingAccessLog final : public AccessLog {
  public:
    static constexpr std::size_t line_bytes_max = 10_KiB;
    // Half a second of 20,000 lines a second. A busy machine may not run the log's writer, or the
    // reader of its pipe, for that long.
    static constexpr std::size_t ring_bytes = 1_MiB;
    static constexpr std::size_t text_bytes_max = 1_KiB;

    // The usual fields of JSON.
    static constexpr std::uint32_t usual_fields =
        bit_of(LogField::time) | bit_of(LogField::request_id) | bit_of(LogField::peer) |
        bit_of(LogField::method) | bit_of(LogField::target) | bit_of(LogField::version) |
        bit_of(LogField::host) | bit_of(LogField::status) | bit_of(LogField::route) |
        bit_of(LogField::bytes) | bit_of(LogField::duration_us) | bit_of(LogField::referer) |
        bit_of(LogField::user_agent);

    RingAccessLog(log::Ring& ring, AccessLogFormat format, AccessLogRules rules = {});

    void write(const AccessRecord& record) override;

  private:
    class BoundedLine;

    class JsonLine;

    bool leaves_out(int status);
    ByteView shown(ByteView target, std::span<char> room, bool is_query = false) const;
    void render_second(UnixSeconds second);
    void render_text(BoundedLine& line, const AccessRecord& record) const;
    void render_json(BoundedLine& line, const AccessRecord& record) const;
    void render_request(JsonLine& line, const Request& request) const;

    log::Ring* ring_;
    AccessLogFormat format_;
    AccessLogRules rules_;
    std::uint64_t thinned_ = 0;  // lines, kept or not
    UnixSeconds second_ = -1;
    std::string time_text_;  // of second_, in the format's form
};

class SlowLog {
  public:
    static constexpr unsigned lines_max = 10;  // in a second; the others are counted

    void write(log::Logger* log, const AccessRecord& record);

  private:
    UnixSeconds second_ = -1;
    unsigned lines_ = 0;  // of that second
    std::uint64_t left_out_ = 0;
};

}  // namespace tiderace::http
