#include "tiderace/http/access_log.h"

#include <array>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <utility>

#include "tiderace/base/calendar.h"
#include "tiderace/http/site_loop.h"
#include "tiderace/log/line.h"
#include "tiderace/net/transport.h"

namespace tiderace::http {
namespace {

// Every text at its longest, and what stands between them, fit in a line.
static_assert(9 * RingAccessLog::text_bytes_max + 512 <= RingAccessLog::line_bytes_max);

constexpr std::array<std::string_view, static_cast<std::size_t>(LogField::count_)> names{
    "time",  "request_id", "site",     "peer",        "method",  "target",
    "path",  "query",      "version",  "tls",         "host",    "status",
    "route", "bytes",      "bytes_in", "duration_us", "referer", "user_agent"};

ByteView or_dash(ByteView text) {
    return text.empty() ? ByteView("-") : text;
}

}  // namespace

std::span<const std::string_view> log_field_names() {
    return names;
}

// A line whose texts are cut where they are too long, escapes counted: the line itself stays whole.
class RingAccessLog::BoundedLine {
  public:
    explicit BoundedLine(std::span<char> room) : room_(room), line_(room) {}

    std::size_t size() const { return line_.size(); }
    BoundedLine& raw(ByteView piece) {
        line_.raw(piece);
        return *this;
    }
    BoundedLine& raw(char piece) {
        line_.raw(piece);
        return *this;
    }
    BoundedLine& number(std::integral auto value) {
        line_.number(value);
        return *this;
    }
    BoundedLine& text(ByteView text) { return append(text, &log::Line::text); }
    BoundedLine& json(ByteView text) { return append(text, &log::Line::json); }

  private:
    // Bounded after escaping, which can make a peer's text several times as long.
    BoundedLine& append(ByteView text, log::Line& (log::Line::*escape)(ByteView)) {
        const std::size_t start = line_.size();
        log::Line part(room_.subspan(start, text_bytes_max));  // which a line has room for
        (part.*escape)(text);
        line_.rewind(start + part.size());
        return *this;
    }

    std::span<char> room_;
    log::Line line_;
};

// The members that were chosen.
class RingAccessLog::JsonLine {
  public:
    JsonLine(BoundedLine& line, std::uint32_t fields) : line_(line), fields_(fields) {
        line_.raw('{');
    }
    bool has(LogField field) const { return (fields_ & bit_of(field)) != 0; }
    void begin(LogField field) {
        line_.raw(begun_ ? ",\"" : "\"").raw(names[static_cast<std::size_t>(field)]).raw("\":");
        begun_ = true;
    }
    void number(LogField field, std::integral auto value) {
        if (!has(field)) return;
        begin(field);
        line_.number(value);
    }
    // Checked, or of our own.
    void plain(LogField field, ByteView text) {
        if (!has(field)) return;
        begin(field);
        line_.raw('"').raw(text).raw('"');
    }
    void text(LogField field, ByteView text) {
        if (!has(field)) return;
        begin(field);
        line_.raw('"').json(text).raw('"');
    }
    void text_if_any(LogField field, ByteView of) {
        if (!of.empty()) text(field, of);
    }
    void end() { line_.raw('}'); }

  private:
    BoundedLine& line_;
    std::uint32_t fields_;
    bool begun_ = false;
};

RingAccessLog::RingAccessLog(log::Ring& ring, AccessLogFormat format, AccessLogRules rules)
    : ring_(&ring), format_(format), rules_(rules) {
    if (rules_.fields == 0) rules_.fields = usual_fields;
}

// Of many lines exactly the part that is kept, whatever the part is.
bool RingAccessLog::leaves_out(int status) {
    if ((rules_.thinned >> (status / 100) & 1) == 0) return false;
    // Multiplied, and not added up: ten times a tenth is one.
    const double part = rules_.kept_of_thinned;
    const double before = std::floor(static_cast<double>(thinned_) * part);
    return std::floor(static_cast<double>(++thinned_) * part) == before;
}

// "/a?user=&token=": values are left out. What is longer than the room would be cut anyway.
ByteView RingAccessLog::shown(ByteView target, std::span<char> room, bool is_query) const {
    if (!rules_.redacts_query) return target;
    std::size_t bytes = 0;
    bool in_value = false;
    for (const char c : target) {
        if (bytes == room.size()) break;
        if (is_query && (c == '&' || c == ';')) in_value = false;
        if (!in_value) room[bytes++] = c;
        if (is_query && c == '=') in_value = true;
        is_query |= c == '?';
    }
    return {room.data(), bytes};
}

void RingAccessLog::write(const AccessRecord& record) {
    if (rules_.thinned != 0 && leaves_out(record.status)) return;
    // The time's text serves all lines of a second.
    if (record.when != second_) render_second(record.when);
    char* room = ring_->reserve(line_bytes_max);
    // The ring is full: the line is dropped, which the writer counts and reports. A request never
    // waits for its log.
    if (room == nullptr) return;
    BoundedLine line({room, line_bytes_max - 1});
    format_ == AccessLogFormat::json ? render_json(line, record) : render_text(line, record);
    const std::size_t bytes = line.size();
    room[bytes] = '\n';
    ring_->commit(bytes + 1);
}

void RingAccessLog::render_second(UnixSeconds second) {
    second_ = second;
    if (format_ == AccessLogFormat::json) {
        char room[rfc3339_bytes_max];
        time_text_ = write_rfc3339(room, second, 1);
        return;
    }
    const CivilTime time = civil_time(second);
    const auto month = short_name(time.month_name());
    char text[80];
    const int size = std::snprintf(text, sizeof text, "%02u/%.3s/%d:%02u:%02u:%02u +0000", time.day,
                                   month.data(), time.year, time.hour, time.minute, time.second);
    time_text_.assign(text, static_cast<std::size_t>(size));
}

void RingAccessLog::render_text(BoundedLine& line, const AccessRecord& record) const {
    const Request& request = *record.request;
    char peer[core::Address::ip_text_bytes_max];
    line.raw(ByteView(peer, request.peer->format_ip(peer)))
        .raw(" - - [")
        .raw(time_text_)
        .raw("] \"");
    char query[text_bytes_max];
    line.text(request.head->method_text()).raw(' ').text(shown(request.head->target(), query));
    line.raw(' ').raw(to_string(request.version)).raw("\" ").number(record.status).raw(' ');
    line.number(record.body_bytes);
    if (format_ == AccessLogFormat::combined) {
        const ByteView referer = or_dash(request.header(wire::FieldName::referer));
        line.raw(" \"").text(shown(referer, query)).raw("\" \"");
        line.text(or_dash(request.header(wire::FieldName::user_agent))).raw('"');
    }
}

void RingAccessLog::render_json(BoundedLine& text, const AccessRecord& record) const {
    const Request& request = *record.request;
    JsonLine line(text, rules_.fields);
    line.plain(LogField::time, time_text_);
    line.plain(LogField::request_id, request.id());
    if (record.matched != nullptr) line.text(LogField::site, record.matched->site);
    render_request(line, request);
    line.number(LogField::status, record.status);
    if (record.matched != nullptr) line.text(LogField::route, record.matched->pattern);
    line.number(LogField::bytes, record.body_bytes);
    line.number(LogField::bytes_in, record.received_bytes);
    line.number(LogField::duration_us,
                std::chrono::duration_cast<std::chrono::microseconds>(record.duration).count());
    char query[text_bytes_max];
    line.text_if_any(LogField::referer, shown(request.header(wire::FieldName::referer), query));
    line.text_if_any(LogField::user_agent, request.header(wire::FieldName::user_agent));
    line.end();
}

void RingAccessLog::render_request(JsonLine& line, const Request& request) const {
    char peer[core::Address::ip_text_bytes_max];
    line.plain(LogField::peer, {peer, request.peer->format_ip(peer)});
    line.text(LogField::method, request.head->method_text());
    char query[text_bytes_max];
    line.text(LogField::target, shown(request.head->target(), query));
    line.text(LogField::path, request.path);
    line.text_if_any(LogField::query, shown(request.query, query, true));
    line.plain(LogField::version, to_string(request.version));
    if (request.security != nullptr) line.plain(LogField::tls, request.security->version);
    line.text(LogField::host, request.authority);
}

void SlowLog::write(log::Logger* log, const AccessRecord& record) {
    if (log == nullptr) return;
    if (record.when != second_) {
        second_ = record.when;
        lines_ = 0;
    }
    if (++lines_ > lines_max) {
        ++left_out_;
        return;
    }
    const Request& request = *record.request;
    const bool is_matched = record.matched != nullptr;
    log->warning(
        "http", "a request was slow", log::field("request_id", request.id()),
        log::field("method", request.method_name()), log::field("path", request.path),
        log::field("site", is_matched ? record.matched->site : ""),
        log::field("route", is_matched ? record.matched->pattern : ""),
        log::field("status", record.status),
        log::field("duration_ms",
                   std::chrono::duration_cast<std::chrono::milliseconds>(record.duration).count()),
        log::field("left_out", std::exchange(left_out_, 0)));
}

}  // namespace tiderace::http
