#include "tiderace/db/row.h"

#include <algorithm>
#include <charconv>
#include <numeric>

#include "tiderace/base/utf8.h"
#include "tiderace/db/error.h"

namespace tiderace::db {
namespace {

[[noreturn]] void complain(const Place& place, std::string_view what) {
    std::string text = "column ";
    text.append(place.column).append(": ").append(what);
    throw Error(Fault::row, text);
}

// A sum of integers is a decimal in PostgreSQL and MariaDB, so a decimal may stand for an integer
// where its fraction is zeros.
template <typename T>
bool read_whole(std::string_view digits, T& value) {
    if (const std::size_t point = digits.find('.'); point != digits.npos) {
        if (digits.find_first_not_of('0', point + 1) != digits.npos) return false;
        digits = digits.substr(0, point);
    }
    const auto [end, fault] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
    return fault == std::errc() && end == digits.data() + digits.size();
}

bool is_number(std::string_view digits) {
    if (!digits.empty() && (digits[0] == '-' || digits[0] == '+')) digits.remove_prefix(1);
    const auto points = std::count(digits.begin(), digits.end(), '.');
    return points <= 1 && digits.size() > static_cast<std::size_t>(points) &&
           digits.find_first_not_of("0123456789.") == digits.npos;
}

std::string listed(const std::vector<std::string>& columns) {
    std::string text;
    for (const std::string& each : columns) text.append(text.empty() ? "" : ", ").append(each);
    return text.empty() ? "none" : text;
}

}  // namespace

void refuse(const Place& place, std::string_view wanted) {
    std::string text(phrase_for(place.cell.kind));
    text.append(" where ").append(wanted).append(" is expected");
    complain(place, text);
}

void refuse_range(const Place& place) {
    complain(place, "out of the range of its member");
}

// SQLite and MariaDB have no booleans, only the integers 0 and 1.
bool read_boolean(const Place& place) {
    const bool fits = place.cell.kind == Kind::boolean || place.cell.kind == Kind::integer;
    if (!fits) refuse(place, phrase_for(Kind::boolean));
    // A count that is taken for a boolean would lose its value.
    if (place.cell.integer != 0 && place.cell.integer != 1) {
        complain(place, "an integer other than 0 and 1 where a boolean is expected");
    }
    return place.cell.integer == 1;
}

std::int64_t read_integer(const Place& place, std::int64_t min, std::int64_t max) {
    std::int64_t value = place.cell.integer;
    if (place.cell.kind == Kind::decimal) {
        if (!read_whole(place.cell.bytes, value)) refuse(place, phrase_for(Kind::integer));
    } else if (place.cell.kind != Kind::integer) {
        refuse(place, phrase_for(Kind::integer));
    }
    // An error and not a cut number: a number that is too large would otherwise become another one.
    if (value < min || value > max) refuse_range(place);
    return value;
}

std::uint64_t read_unsigned(const Place& place) {
    std::uint64_t value = 0;
    if (place.cell.kind == Kind::decimal && read_whole(place.cell.bytes, value)) return value;
    return static_cast<std::uint64_t>(
        read_integer(place, 0, std::numeric_limits<std::int64_t>::max()));
}

double read_real(const Place& place) {
    const Cell& cell = place.cell;
    if (cell.kind == Kind::real) return cell.real;
    if (cell.kind == Kind::integer) return static_cast<double>(cell.integer);
    const auto value = cell.kind == Kind::decimal ? parse_number<double>(cell.bytes) : std::nullopt;
    if (!value) refuse(place, "a number");
    return *value;
}

// Checked, because SQLite stores any bytes as text, and the program passes it on as UTF-8 (JSON).
std::string read_text(const Place& place) {
    if (place.cell.kind != Kind::text) refuse(place, phrase_for(Kind::text));
    if (!is_utf8(place.cell.bytes)) complain(place, "text that is not UTF-8");
    return std::string(place.cell.bytes);
}

Blob read_blob(const Place& place) {
    if (place.cell.kind != Kind::blob) refuse(place, phrase_for(Kind::blob));
    return Blob(std::string(place.cell.bytes));
}

Decimal read_decimal(const Place& place) {
    const Cell& cell = place.cell;
    if (cell.kind == Kind::integer) return Decimal(std::to_string(cell.integer));
    // SQLite has no decimals: as text they keep their digits.
    const bool fits =
        cell.kind == Kind::decimal || (cell.kind == Kind::text && is_number(cell.bytes));
    if (!fits) refuse(place, phrase_for(Kind::decimal));
    return Decimal(std::string(cell.bytes));
}

std::int64_t read_microseconds(const Place& place) {
    if (place.cell.kind == Kind::time) return place.cell.integer;
    // SQLite has no times, either.
    if (place.cell.kind == Kind::text) {
        if (const auto time = read_time(place.cell.bytes)) return *time;
    }
    refuse(place, phrase_for(Kind::time));
}

std::int64_t read_enumerator(const Place& place, std::span<const EnumName> names) {
    if (place.cell.kind != Kind::text) refuse(place, "the name of an enumerator");
    for (const EnumName& each : names) {
        if (each.name == place.cell.bytes) return each.value;
    }
    complain(place, "text that is not an enumerator's name");
}

// By name, and all of them: a column without a member is a mistake in one of the two.
void match_columns(const std::vector<std::string>& columns,
                   std::span<const std::string_view> members, std::span<std::size_t> found) {
    // Most statements name them in the order of the members.
    if (std::equal(columns.begin(), columns.end(), members.begin(), members.end())) {
        std::iota(found.begin(), found.end(), std::size_t{0});
        return;
    }
    for (std::size_t i = 0; i < members.size(); ++i) {
        const auto at = std::find(columns.begin(), columns.end(), members[i]);
        if (at == columns.end()) {
            throw Error(Fault::row,
                        "no column " + std::string(members[i]) + " among: " + listed(columns));
        }
        found[i] = static_cast<std::size_t>(at - columns.begin());
    }
    for (std::size_t i = 0; i < columns.size(); ++i) {
        if (std::find(found.begin(), found.end(), i) != found.end()) continue;
        const bool twice = std::find(members.begin(), members.end(), columns[i]) != members.end();
        throw Error(Fault::row, "column " + columns[i] +
                                    (twice ? " is there twice" : ": no member has this name"));
    }
}

void check_width(const std::vector<std::string>& columns, std::size_t wanted) {
    if (columns.size() == wanted) return;
    throw Error(Fault::row, std::to_string(wanted) + (wanted == 1 ? " column" : " columns") +
                                " expected, and there are " + std::to_string(columns.size()) +
                                ": " + listed(columns));
}

}  // namespace tiderace::db
