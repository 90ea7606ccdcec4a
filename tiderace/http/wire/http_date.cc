#include "tiderace/http/wire/http_date.h"

#include <algorithm>
#include <chrono>
#include <cstring>

namespace tiderace::http::wire {
namespace {

constexpr ByteView month_names = "JanFebMarAprMayJunJulAugSepOctNovDec";
constexpr std::array<ByteView, 7> weekday_names = {"Sunday",   "Monday", "Tuesday", "Wednesday",
                                                   "Thursday", "Friday", "Saturday"};
constexpr UnixSeconds day_seconds = 86'400;

std::chrono::year_month_day calendar_day(UnixSeconds time) {
    return std::chrono::sys_days(std::chrono::days(time / day_seconds));
}

std::chrono::weekday weekday_of(UnixSeconds time) {
    return std::chrono::sys_days(std::chrono::days(time / day_seconds));
}

char* put_two_digits(char* out, unsigned number) {
    *out++ = static_cast<char>('0' + number / 10);
    *out++ = static_cast<char>('0' + number % 10);
    return out;
}

char* put(char* out, ByteView text) {
    std::memcpy(out, text.data(), text.size());
    return out + text.size();
}

// What the three forms say in different orders. -1 and npos are "not read".
struct Fields {
    int year = -1;
    int month = -1;  // 0 to 11
    int day = -1;
    int seconds = -1;  // of the day
    ByteView weekday;  // three letters
};

// Reads fixed text from the front; after the first mismatch every later read fails too.
class Reader {
  public:
    explicit Reader(ByteView text) : text_(text) {}

    bool done() const { return ok_ && text_.empty(); }

    void expect(ByteView literal) {
        ok_ = ok_ && text_.starts_with(literal);
        if (ok_) text_.remove_prefix(literal.size());
    }

    int number(std::size_t digits) {
        ok_ = ok_ && text_.size() >= digits;
        int value = 0;
        for (std::size_t i = 0; ok_ && i < digits; ++i) {
            ok_ = text_[i] >= '0' && text_[i] <= '9';
            value = value * 10 + (text_[i] - '0');
        }
        if (!ok_) return -1;
        text_.remove_prefix(digits);
        return value;
    }

    // asctime pads the day with a space.
    int padded_day() {
        if (!text_.starts_with(' ')) return number(2);
        expect(" ");
        return number(1);
    }

    int month() {
        // A match at another place than a multiple of three lies across two names, such as "anF".
        const std::size_t at = month_names.find(text_.substr(0, 3));
        ok_ = ok_ && text_.size() >= 3 && at % 3 == 0 && at != ByteView::npos;
        if (!ok_) return -1;
        text_.remove_prefix(3);
        return static_cast<int>(at / 3);
    }

    int time_of_day() {
        const int hour = number(2);
        expect(":");
        const int minute = number(2);
        expect(":");
        const int second = number(2);
        // RFC 9110, 5.6.7, allows the leap second of its grammar.
        const bool leap = hour == 23 && minute == 59 && second == 60;
        ok_ = ok_ && hour < 24 && minute < 60 && (second < 60 || leap);
        return ok_ ? (hour * 60 + minute) * 60 + second : -1;
    }

  private:
    ByteView text_;
    bool ok_ = true;
};

std::optional<UnixSeconds> to_time(const Fields& fields) {
    if (fields.year < 1970) return std::nullopt;
    const std::chrono::year_month_day date(
        std::chrono::year(fields.year), std::chrono::month(static_cast<unsigned>(fields.month + 1)),
        std::chrono::day(static_cast<unsigned>(fields.day)));
    if (!date.ok()) return std::nullopt;
    const UnixSeconds midnight =
        std::chrono::sys_days(date).time_since_epoch().count() * day_seconds;
    const ByteView weekday = weekday_names[weekday_of(midnight).c_encoding()];
    // A date that contradicts itself is no date, and the condition is then ignored.
    if (weekday.substr(0, 3) != fields.weekday) return std::nullopt;
    const UnixSeconds time = midnight + fields.seconds;
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
    const int last = int(calendar_day(std::clamp<UnixSeconds>(now, 0, http_date_max)).year()) + 50;
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

std::array<char, 29> format_http_date(UnixSeconds time) {
    time = std::clamp<UnixSeconds>(time, 0, http_date_max);
    const std::chrono::year_month_day date = calendar_day(time);
    const std::size_t month = unsigned(date.month()) - 1;
    const auto year = static_cast<unsigned>(int(date.year()));
    const auto second = static_cast<unsigned>(time % day_seconds);
    std::array<char, 29> text;
    char* out = put(text.data(), weekday_names[weekday_of(time).c_encoding()].substr(0, 3));
    out = put_two_digits(put(out, ", "), unsigned(date.day()));
    out = put(put(put(out, " "), month_names.substr(month * 3, 3)), " ");
    out = put_two_digits(put_two_digits(out, year / 100), year % 100);
    out = put_two_digits(put(out, " "), second / 3600);
    out = put_two_digits(put(out, ":"), second / 60 % 60);
    out = put_two_digits(put(out, ":"), second % 60);
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
