#include "tiderace/db/value.h"

#include <array>
#include <cstdint>

#include "tiderace/base/calendar.h"
#include "tiderace/db/error.h"

namespace tiderace::db {

std::string_view phrase_for(Kind kind) {
    static constexpr std::array<std::string_view, 8> phrases = {
        "null", "a boolean", "an integer", "a floating-point number",
        "text", "a blob",    "a decimal",  "a time"};
    return phrases[static_cast<std::size_t>(kind)];
}

void Value::refuse_enumerator() {
    throw Error(Fault::parameters, "a value of an enum that has no name");
}

void Value::refuse_time() {
    throw Error(Fault::parameters, "a time outside of the years 0001 to 9999");
}

std::string time_text(std::int64_t microseconds) {
    char room[rfc3339_bytes_max];
    std::string text(write_rfc3339(room, microseconds, 1'000'000));
    // Four digits of a year are what all three databases read.
    if (text.empty()) {
        throw Error(Fault::parameters, "a time outside of the years 0001 to 9999");
    }
    text[10] = ' ';
    text.pop_back();
    return text;  // "2026-11-22 10:30:00.250000"
}

std::optional<std::int64_t> read_time(std::string_view text) {
    return read_sql_time(text, 1'000'000);
}

}  // namespace tiderace::db
