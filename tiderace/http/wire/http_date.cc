#include "tiderace/http/wire/http_date.h"

#include <algorithm>
#include <cstring>

#include "tiderace/base/calendar.h"

namespace tiderace::http::wire {
namespace {

char* put(char* out, ByteView text) {
    std::memcpy(out, text.data(), text.size());
    return out + text.size();
}

// What the three forms say in different orders.
struct Fields {
    int year = 0;
    int month = 0;  // 0 to 11
    int day = 0;
    int seconds = 0;   // of the day
    ByteView weekday;  // three letters
};

class Reader : public FixedTextReader {
  public:
    using FixedTextReader::FixedTextReader;

    // asctime pads the day with a space.
    int padded_day() { return number(skip(" ") ? 1 : 2); }

    int month() {
        const auto found = std::ranges::find(month_names, rest().substr(0, 3), short_name);
        require(found != month_names.end());
        if (good()) expect(short_name(*found));
        return static_cast<int>(found - month_names.begin());
    }

    int time_of_day() {
        const int hour = number(2);
        expect(":");
        const int minute = number(2);
        expect(":");
        const int second = number(2);
        // RFC 9110, 5.6.7, allows the leap second of its grammar.
        const bool leap = hour == 23 && minute == 59 && second == 60;
        require(hour < 24 && minute < 60 && (second < 60 || leap));
        return (hour * 60 + minute) * 60 + second;
    }
};

std::optional<UnixSeconds> to_time(const Fields& fields) {
    if (fields.year < 1970) return std::nullopt;
    const auto midnight = midnight_of(fields.year, static_cast<unsigned>(fields.month + 1),
                                      static_cast<unsigned>(fields.day));
    // A date that contradicts itself is no date, and the condition is then ignored.
    if (!midnight || short_name(civil_time(*midnight).weekday_name()) != fields.weekday) {
        return std::nullopt;
    }
    const UnixSeconds time = *midnight + fields.seconds;
    if (time > http_date_max) return std::nullopt;  // the leap second at the very end
    return time;
}

// What follows the weekday: ", 06 Nov 1994 08:49:37 GMT", with hyphens and a short year in RFC 850.
// False: it is not that.
bool read_after_weekday(ByteView text, ByteView between, std::size_t year_digits, Fields& fields) {
    Reader reader(text);
    reader.expect(", ");
    fields.day = reader.number(2);
    reader.expect(between);
    fields.month = reader.month();
    reader.expect(between);
    fields.year = reader.number(year_digits);
    reader.expect(" ");
    fields.seconds = reader.time_of_day();
    reader.expect(" GMT");
    return reader.done();
}

std::optional<UnixSeconds> parse_imf_fixdate(ByteView text) {
    Fields fields{.weekday = text.substr(0, 3)};
    if (!read_after_weekday(text.substr(3), " ", 4, fields)) return std::nullopt;
    return to_time(fields);
}

std::optional<UnixSeconds> parse_asctime(ByteView text) {
    Fields fields{.weekday = text.substr(0, 3)};
    Reader reader(text.substr(3));
    reader.expect(" ");
    fields.month = reader.month();
    reader.expect(" ");
    fields.day = reader.padded_day();
    reader.expect(" ");
    fields.seconds = reader.time_of_day();
    reader.expect(" ");
    fields.year = reader.number(4);
    return reader.done() ? to_time(fields) : std::nullopt;
}

// RFC 9110: what seems to lie more than 50 years ahead is the most recent year that ends so.
std::optional<UnixSeconds> resolve_two_digit_year(Fields fields, UnixSeconds now) {
    const int last = civil_time(std::clamp<UnixSeconds>(now, 0, http_date_max)).year + 50;
    fields.year += last / 100 * 100;
    if (fields.year > last) fields.year -= 100;
    return to_time(fields);
}

std::optional<UnixSeconds> parse_rfc850(ByteView text, UnixSeconds now) {
    const ByteView weekday = text.substr(0, text.find(','));
    if (std::ranges::find(weekday_names, weekday) == weekday_names.end()) return std::nullopt;
    Fields fields{.weekday = weekday.substr(0, 3)};
    if (!read_after_weekday(text.substr(weekday.size()), "-", 2, fields)) return std::nullopt;
    return resolve_two_digit_year(fields, now);
}

}  // namespace

std::array<char, 29> format_http_date(UnixSeconds when) {
    const CivilTime time = civil_time(std::clamp<UnixSeconds>(when, 0, http_date_max));
    std::array<char, 29> text;
    char* out = put(put(text.data(), short_name(time.weekday_name())), ", ");
    out = put(put_digits(out, time.day, 2), " ");
    out = put(put(out, short_name(time.month_name())), " ");
    out = put_digits(out, static_cast<unsigned>(time.year), 4);
    out = put_digits(put(out, " "), time.hour, 2);
    out = put_digits(put(out, ":"), time.minute, 2);
    out = put_digits(put(out, ":"), time.second, 2);
    put(out, " GMT");
    return text;
}

std::optional<UnixSeconds> parse_http_date(ByteView text, UnixSeconds now) {
    // RFC 9110, 5.6.7: recipients accept all three forms, which differ in length.
    if (text.size() == 29 && text[3] == ',') return parse_imf_fixdate(text);
    if (text.size() == 24) return parse_asctime(text);
    return parse_rfc850(text, now);
}

}  // namespace tiderace::http::wire
