// Internal. Record: one event of the diagnostics log, and its three forms.
//
//   text     2026-11-21T08:00:00.125Z warning net: peer too slow peer=192.0.2.7:50312
//   json     {"time":"2026-11-21T08:00:00.125Z","level":"warning","scope":"net","text":"peer too…
//   journal  <4>net: peer too slow peer=192.0.2.7:50312
//
// Limits   A line is at most record_bytes_max; of the scope 64 bytes and of the text 512 are shown.
//          A field that does not fit is left out with those after it. The line then says
//          truncated=true.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "tiderace/base/bytes.h"
#include "tiderace/base/units.h"
#include "tiderace/log/field.h"
#include "tiderace/log/level.h"
#include "tiderace/log/line.h"

namespace tiderace::log {

inline constexpr std::size_t record_bytes_max = 4_KiB;

enum class Format : std::uint8_t { text, json, journal };

struct Record {
    std::int64_t unix_ms = 0;
    Level level = Level::info;
    std::string_view scope;
    ByteView text;
    std::span<const Field> fields;
};

// Writes the line with its final \n to `room`, which has record_bytes_max; returns its length.
std::size_t render(const Record& record, Format format, std::span<char, record_bytes_max> room);

// "2026-11-21T08:00:00.125Z", for the years 0 to 9999.
void render_time(Line& line, std::int64_t unix_ms);

}  // namespace tiderace::log
