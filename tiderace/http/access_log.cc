#include "tiderace/http/access_log.h"

#include <chrono>
#include <cstdio>
#include <span>

#include "tiderace/base/calendar.h"
#include "tiderace/http/site_loop.h"
#include "tiderace/log/line.h"

namespace tiderace::http {
namespace {

// Every text at its longest, and what stands between them, fit in a line.
static_assert(6 * RingAccessLog::text_bytes_max + 512 <= RingAccessLog::line_bytes_max);

ByteView or_dash(ByteView text) {
    return text.empty() ? ByteView("-") : text;
}

}  // namespace

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

void RingAccessLog::write(const AccessRecord& record) {
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
    line.text(request.head->method_text()).raw(' ').text(request.head->target());
    line.raw(' ').raw(to_string(request.version)).raw("\" ").number(record.status).raw(' ');
    line.number(record.body_bytes);
    if (format_ == AccessLogFormat::combined) {
        line.raw(" \"").text(or_dash(request.header(wire::FieldName::referer))).raw("\" \"");
        line.text(or_dash(request.header(wire::FieldName::user_agent))).raw('"');
    }
}

void RingAccessLog::render_json(BoundedLine& line, const AccessRecord& record) const {
    const Request& request = *record.request;
    char peer[core::Address::ip_text_bytes_max];
    line.raw("{\"time\":\"").raw(time_text_).raw("\",\"request_id\":\"").raw(request.id());
    line.raw("\",\"peer\":\"");
    line.raw(ByteView(peer, request.peer->format_ip(peer))).raw("\",\"method\":\"");
    line.json(request.head->method_text()).raw("\",\"target\":\"");
    line.json(request.head->target()).raw("\",\"version\":\"").raw(to_string(request.version));
    line.raw("\",\"host\":\"").json(request.authority).raw("\",\"status\":");
    line.number(record.status);
    if (record.matched != nullptr) {
        line.raw(",\"route\":\"").json(record.matched->pattern).raw('"');
    }
    line.raw(",\"bytes\":").number(record.body_bytes).raw(",\"duration_us\":");
    line.number(std::chrono::duration_cast<std::chrono::microseconds>(record.duration).count());
    if (const ByteView referer = request.header(wire::FieldName::referer); !referer.empty()) {
        line.raw(",\"referer\":\"").json(referer).raw('"');
    }
    if (const ByteView agent = request.header(wire::FieldName::user_agent); !agent.empty()) {
        line.raw(",\"user_agent\":\"").json(agent).raw('"');
    }
    line.raw('}');
}

}  // namespace tiderace::http
