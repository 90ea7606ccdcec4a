#include "tiderace/http/access_log.h"

#include <chrono>
#include <ctime>

namespace tiderace::http {
namespace {

// Cut where it is too long: the line stays whole, and says what matters first.
ByteView bounded(ByteView text) {
    return text.substr(0, RingAccessLog::text_bytes_max);
}

ByteView or_dash(ByteView text) {
    return text.empty() ? ByteView("-") : bounded(text);
}

ByteView version_text(const Request& request) {
    return request.head->version_minor() == 0 ? "HTTP/1.0" : "HTTP/1.1";
}

}  // namespace

void RingAccessLog::write(const AccessRecord& record) {
    if (record.when != second_) render_second(record.when);
    char* room = ring_->reserve(line_bytes_max);
    if (room == nullptr) return;
    log::Line line({room, line_bytes_max - 1});
    format_ == AccessLogFormat::json ? render_json(line, record) : render_text(line, record);
    const std::size_t bytes = line.size();
    room[bytes] = '\n';
    ring_->commit(bytes + 1);
}

void RingAccessLog::render_second(UnixSeconds second) {
    second_ = second;
    const auto when = static_cast<std::time_t>(second);
    std::tm parts{};
    ::gmtime_r(&when, &parts);
    char text[40];
    const char* format =
        format_ == AccessLogFormat::json ? "%Y-%m-%dT%H:%M:%SZ" : "%d/%b/%Y:%H:%M:%S +0000";
    time_text_.assign(text, std::strftime(text, sizeof text, format, &parts));
}

void RingAccessLog::render_text(log::Line& line, const AccessRecord& record) const {
    const Request& request = *record.request;
    char peer[core::Address::ip_text_bytes_max];
    line.raw({peer, request.peer->format_ip(peer)}).raw(" - - [").raw(time_text_).raw("] \"");
    line.text(bounded(request.head->method_text())).raw(' ').text(bounded(request.head->target()));
    line.raw(' ').raw(version_text(request)).raw("\" ").number(record.status).raw(' ');
    line.number(record.body_bytes);
    if (format_ == AccessLogFormat::combined) {
        line.raw(" \"").text(or_dash(request.field(wire::FieldName::referer))).raw("\" \"");
        line.text(or_dash(request.field(wire::FieldName::user_agent))).raw('"');
    }
}

void RingAccessLog::render_json(log::Line& line, const AccessRecord& record) const {
    const Request& request = *record.request;
    char peer[core::Address::ip_text_bytes_max];
    line.raw("{\"time\":\"").raw(time_text_).raw("\",\"peer\":\"");
    line.raw({peer, request.peer->format_ip(peer)}).raw("\",\"method\":\"");
    line.json(bounded(request.head->method_text())).raw("\",\"target\":\"");
    line.json(bounded(request.head->target())).raw("\",\"version\":\"").raw(version_text(request));
    line.raw("\",\"host\":\"").json(bounded(request.authority)).raw("\",\"status\":");
    line.number(record.status)
        .raw(",\"bytes\":")
        .number(record.body_bytes)
        .raw(",\"duration_us\":");
    line.number(std::chrono::duration_cast<std::chrono::microseconds>(record.duration).count());
    if (const ByteView referer = request.field(wire::FieldName::referer); !referer.empty()) {
        line.raw(",\"referer\":\"").json(bounded(referer)).raw('"');
    }
    if (const ByteView agent = request.field(wire::FieldName::user_agent); !agent.empty()) {
        line.raw(",\"user_agent\":\"").json(bounded(agent)).raw('"');
    }
    line.raw('}');
}

}  // namespace tiderace::http
