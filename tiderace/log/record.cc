#include "tiderace/log/record.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "tiderace/base/calendar.h"

namespace tiderace::log {
namespace {

constexpr std::string_view text_truncated = " truncated=true\n";
constexpr std::string_view json_truncated = ",\"truncated\":true}\n";
// Kept free for the end of the line, whatever the fields were.
constexpr std::size_t ending_bytes = std::max(text_truncated.size(), json_truncated.size());
// Scope and text are cut so that, escaped at their worst, they fit beside time and level.
constexpr std::size_t scope_bytes_max = 64;
constexpr std::size_t text_bytes_max = 512;
static_assert((scope_bytes_max + text_bytes_max) * escaped_byte_bytes_max + 100 + ending_bytes <
              record_bytes_max);

// A value that reads as one word: nothing to escape, no space and no `=`.
bool is_word(ByteView value) {
    return !value.empty() && std::all_of(value.begin(), value.end(), [](char c) {
        return c > ' ' && c < 0x7f && c != '"' && c != '\\' && c != '=';
    });
}

void render_number(Line& line, double value, Format format) {
    const bool quoted = format == Format::json && !std::isfinite(value);  // JSON has no nan
    if (quoted) line.raw('"');
    line.number(value);
    if (quoted) line.raw('"');
}

struct ValueRenderer {
    Line& line;
    Format format;

    void operator()(ByteView value) const {
        if (format != Format::json && is_word(value)) {
            line.raw(value);
            return;
        }
        line.raw('"');
        format == Format::json ? line.json(value) : line.text(value);
        line.raw('"');
    }
    void operator()(bool value) const { line.raw(value ? "true" : "false"); }
    void operator()(double value) const { render_number(line, value, format); }
    void operator()(std::int64_t value) const { line.number(value); }
    void operator()(std::uint64_t value) const { line.number(value); }
};

// RFC 5424, table 2.
char syslog_severity(Level level) {
    if (level >= Level::error) return '3';
    if (level == Level::warning) return '4';
    return level == Level::info ? '6' : '7';
}

void render_head(Line& line, const Record& record, Format format) {
    const ByteView scope = record.scope.substr(0, scope_bytes_max);
    const ByteView text = record.text.substr(0, text_bytes_max);
    if (format == Format::journal) {
        // The journal has a time of its own, and reads the level from this (sd-daemon(3)).
        line.raw('<').raw(syslog_severity(record.level)).raw('>');
        line.text(scope).raw(": ").text(text);
        return;
    }
    if (format == Format::text) {
        render_time(line, record.unix_ms);
        line.raw(' ').raw(to_string(record.level)).raw(' ').text(scope).raw(": ").text(text);
        return;
    }
    line.raw("{\"time\":\"");
    render_time(line, record.unix_ms);
    line.raw("\",\"level\":\"").raw(to_string(record.level)).raw("\",\"scope\":\"");
    line.json(scope).raw("\",\"text\":\"").json(text).raw('"');
}

void render_field(Line& line, const Field& field, Format format) {
    if (format != Format::json) {
        line.raw(' ').text(field.key).raw('=');
    } else {
        line.raw(",\"").json(field.key).raw("\":");
    }
    std::visit(ValueRenderer{line, format}, field.value);
}

}  // namespace

void render_time(Line& line, std::int64_t unix_ms) {
    char room[rfc3339_bytes_max];
    line.raw(write_rfc3339(room, unix_ms, 1'000));
}

std::size_t render(const Record& record, Format format, std::span<char, record_bytes_max> room) {
    Line line(room.first(room.size() - ending_bytes));
    render_head(line, record, format);
    bool truncated = record.scope.size() > scope_bytes_max || record.text.size() > text_bytes_max;
    for (const Field& field : record.fields) {
        const std::size_t before = line.size();
        render_field(line, field, format);
        if (line.full()) {
            line.rewind(before);
            truncated = true;
            break;
        }
    }
    Line ending(room.subspan(line.size()));
    if (format != Format::json) {
        ending.raw(truncated ? text_truncated : "\n");
    } else {
        ending.raw(truncated ? json_truncated : "}\n");
    }
    return line.size() + ending.size();
}

}  // namespace tiderace::log
