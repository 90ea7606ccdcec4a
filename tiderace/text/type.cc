#include "tiderace/text/type.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstring>
#include <utility>

#include "tiderace/base/calendar.h"

namespace tiderace::text {
namespace {

// By memcpy: the member behind `at` has a type of its own, such as an enum or long long.
template <typename T>
T load(const void* at) {
    T value;
    std::memcpy(&value, at, sizeof(T));
    return value;
}

std::uint64_t load_unsigned(Ref value) {
    switch (value.type->bytes) {
        case 1:
            return load<std::uint8_t>(value.at);
        case 2:
            return load<std::uint16_t>(value.at);
        case 4:
            return load<std::uint32_t>(value.at);
        default:
            return load<std::uint64_t>(value.at);
    }
}

std::int64_t load_signed(Ref value) {
    switch (value.type->bytes) {
        case 1:
            return load<std::int8_t>(value.at);
        case 2:
            return load<std::int16_t>(value.at);
        case 4:
            return load<std::int32_t>(value.at);
        default:
            return load<std::int64_t>(value.at);
    }
}

template <typename T>
Order order(const T& left, const T& right) {
    if (left < right) return Order::less;
    if (right < left) return Order::greater;
    // Neither less nor greater nor equal: NaN.
    return left == right ? Order::equal : Order::none;
}

bool is_numeric(Kind kind) {
    return kind == Kind::integer || kind == Kind::number;
}
bool is_textual(Kind kind) {
    return kind == Kind::text || kind == Kind::html;
}

Order compare_integers(Ref left, Ref right) {
    // C++ would convert -1 beside an unsigned value to its largest one.
    const bool left_below = left.type->is_signed && load_signed(left) < 0;
    const bool right_below = right.type->is_signed && load_signed(right) < 0;
    if (left_below != right_below) return left_below ? Order::less : Order::greater;
    if (left_below) return order(load_signed(left), load_signed(right));
    const auto magnitude = [](Ref value) {
        return value.type->is_signed ? static_cast<std::uint64_t>(load_signed(value))
                                     : load_unsigned(value);
    };
    return order(magnitude(left), magnitude(right));
}

// Appends to a text, in few pieces.
class Pieces {
  public:
    explicit Pieces(std::string& out) : out_(out) {}

    void add(char c) {
        if (used_ == room_.size()) flush();
        room_[used_++] = c;
    }
    void add(std::string_view text) {
        for (const char c : text) add(c);
    }
    void flush() {
        out_.append(room_.data(), used_);
        used_ = 0;
    }

  private:
    std::string& out_;
    std::array<char, 64> room_;
    std::size_t used_ = 0;
};

void add_padded(Pieces& out, std::int64_t number, std::size_t digits) {
    const bool has_two = digits == 2 && number >= 0 && number < 100;
    if (has_two || (digits == 4 && number >= 0 && number < 10'000)) {  // nearly all of a date
        const auto small = static_cast<unsigned>(number);
        if (!has_two) {
            out.add(static_cast<char>('0' + small / 1'000));
            out.add(static_cast<char>('0' + small / 100 % 10));
        }
        out.add(static_cast<char>('0' + small / 10 % 10));
        out.add(static_cast<char>('0' + small % 10));
        return;
    }
    std::array<char, number_bytes_max> room;
    const auto written =
        std::to_chars(room.data(), room.data() + room.size(), number < 0 ? -number : number);
    const auto size = static_cast<std::size_t>(written.ptr - room.data());
    if (number < 0) out.add('-');
    for (std::size_t missing = size; missing < digits; ++missing) out.add('0');
    out.add(std::string_view(room.data(), size));
}

// False: a letter that is none of ours.
bool add_date(Pieces& out, const CivilTime& time, char letter) {
    switch (letter) {
        case 'Y':
            add_padded(out, time.year, 4);
            return true;
        case 'y':
            add_padded(out, (time.year % 100 + 100) % 100, 2);
            return true;
        case 'm':
            add_padded(out, time.month, 2);
            return true;
        case 'd':
            add_padded(out, time.day, 2);
            return true;
        case 'e':
            add_padded(out, time.day, 1);
            return true;
        case 'B':
            out.add(time.month_name());
            return true;
        case 'b':
            out.add(short_name(time.month_name()));
            return true;
        case 'A':
            out.add(time.weekday_name());
            return true;
        case 'a':
            out.add(short_name(time.weekday_name()));
            return true;
        case 'j':
            add_padded(out, time.day_of_year, 3);
            return true;
        default:
            return false;
    }
}

bool add_clock(Pieces& out, const CivilTime& time, char letter) {
    switch (letter) {
        case 'H':
            add_padded(out, time.hour, 2);
            return true;
        case 'M':
            add_padded(out, time.minute, 2);
            return true;
        case 'S':
            add_padded(out, time.second, 2);
            return true;
        case '%':
            out.add('%');
            return true;
        default:
            return false;
    }
}

}  // namespace

Ref plain_inside(Ref value) {
    while (true) {
        // A null pointer is nothing; a Ref without a type is a fault that was noted, and stays one.
        if (value.at == nullptr || value.type == nullptr) return value.type ? nothing : value;
        if (value.type->kind == Kind::optional) {
            value = {value.type->element, value.type->get(value.at)};
        } else if (value.type->kind == Kind::dynamic) {
            value = value.type->resolve(value.at);
        } else {
            return value;
        }
    }
}

const Member* find_member(const Type& object, std::string_view name) {
    const auto found = std::ranges::find(object.members, name, &Member::name);
    return found == object.members.end() ? nullptr : &*found;
}

std::string_view kind_text(Kind kind) {
    constexpr std::array<std::string_view, 12> texts = {
        "nothing", "true or false", "an integer", "a number", "a text",    "safe HTML",
        "a time",  "a list",        "a map",      "a value",  "an object", "a value"};
    return texts[std::to_underlying(kind)];
}

std::int64_t integer_of(Ref integer) {
    return integer.type->is_signed ? load_signed(integer)
                                   : static_cast<std::int64_t>(load_unsigned(integer));
}

double number_of(Ref number) {
    if (number.type->kind == Kind::number) {
        return number.type->bytes == sizeof(float) ? load<float>(number.at)
                                                   : load<double>(number.at);
    }
    return number.type->is_signed ? static_cast<double>(load_signed(number))
                                  : static_cast<double>(load_unsigned(number));
}

std::optional<std::string_view> text_of(Ref given, NumberRoom room) {
    const Ref value = plain(given);
    const auto written = [&](std::to_chars_result result) {
        return std::string_view(room.data(), result.ptr - room.data());
    };
    char* const end = room.data() + room.size();
    switch (value.type->kind) {
        case Kind::nothing:
            return "";
        case Kind::boolean:
            return load<bool>(value.at) ? "true" : "false";
        case Kind::integer:
            return written(value.type->is_signed
                               ? std::to_chars(room.data(), end, load_signed(value))
                               : std::to_chars(room.data(), end, load_unsigned(value)));
        case Kind::number:  // in the precision of its own type, or 0.1f would be 0.10000000149
            return written(value.type->bytes == sizeof(float)
                               ? std::to_chars(room.data(), end, load<float>(value.at))
                               : std::to_chars(room.data(), end, load<double>(value.at)));
        case Kind::text:
        case Kind::html:
            return value.type->text(value.at);
        case Kind::time: {
            std::string text;  // of 20 bytes, which may allocate: no other value does
            append_time(text, value.type->seconds(value.at), "%Y-%m-%dT%H:%M:%SZ");
            const std::size_t bytes = text.copy(room.data(), room.size());
            return std::string_view(room.data(), bytes);
        }
        default:
            return std::nullopt;
    }
}

bool is_true(Ref given) {
    const Ref value = plain(given);
    switch (value.type->kind) {
        case Kind::nothing:
            return false;
        case Kind::boolean:
            return load<bool>(value.at);
        case Kind::integer:
            // Zero has the same bytes with and without a sign.
            return load_unsigned(value) != 0;
        case Kind::number:
            return number_of(value) != 0;
        case Kind::text:
        case Kind::html:
            return !value.type->text(value.at).empty();
        case Kind::list:
        case Kind::map:
            return value.type->size(value.at) > 0;
        default:
            return true;
    }
}

bool comparable(Kind left, Kind right) {
    // `{% if x == nothing %}` asks whether an optional is empty, whatever is in it.
    if (left == Kind::nothing || right == Kind::nothing) return true;
    return (is_numeric(left) && is_numeric(right)) || (is_textual(left) && is_textual(right)) ||
           (left == right && (left == Kind::boolean || left == Kind::time));
}

Order compare(Ref left_given, Ref right_given) {
    const Ref left = plain(left_given);
    const Ref right = plain(right_given);
    const Kind kind = left.type->kind;
    if (!comparable(kind, right.type->kind)) return Order::none;
    if (kind == Kind::nothing || right.type->kind == Kind::nothing) {
        return kind == right.type->kind ? Order::equal : Order::none;
    }
    if (is_textual(kind)) return order(left.type->text(left.at), right.type->text(right.at));
    if (kind == Kind::boolean) return order(load<bool>(left.at), load<bool>(right.at));
    if (kind == Kind::time)
        return order(left.type->seconds(left.at), right.type->seconds(right.at));
    if (kind == Kind::integer && right.type->kind == Kind::integer) {
        return compare_integers(left, right);
    }
    return order(number_of(left), number_of(right));
}

bool append_time(std::string& out, std::int64_t seconds, std::string_view format) {
    const std::size_t before = out.size();
    const CivilTime moment = civil_time(seconds);
    Pieces pieces(out);
    for (std::size_t at = 0; at < format.size(); ++at) {
        if (format[at] != '%') {
            pieces.add(format[at]);
            continue;
        }
        ++at;
        const bool is_known = at < format.size() && (add_date(pieces, moment, format[at]) ||
                                                     add_clock(pieces, moment, format[at]));
        if (is_known) continue;
        out.resize(before);
        return false;
    }
    pieces.flush();
    return true;
}

}  // namespace tiderace::text
