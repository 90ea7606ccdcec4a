// Value: what is bound to a `?`. Blob, Decimal: what C++ has no type for.
//
//   bool, integers, floating point     as such
//   std::string, std::string_view,
//   const char*                        text, checked as UTF-8 without a NUL
//   Blob                               bytes
//   Decimal                            an exact number in digits
//   std::chrono::sys_time<…>           a moment of the years 0001 to 9999, in microseconds (finer
//                                      ones are cut off); another is Error{parameters}
//   an enum class                      the name of the enumerator, as text
//   std::optional<T>, std::nullopt     null, or a T
//   json::Length, Range and the like   the value inside
//
// Owner    Copies its value: a cancelled statement may still use it for a while.
// Thread   Any; a value.
// Keywords: SQL injection, bind
#pragma once

#include <chrono>
#include <concepts>
#include <cstdint>
#include <optional>
#include <ratio>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

#include "tiderace/base/enum_names.h"

namespace tiderace::db {

using Time = std::chrono::sys_time<std::chrono::microseconds>;

// Not aggregates: g++ 12 destroys temporary ones in a co_await twice (task.h).
class Blob {
  public:
    Blob() = default;
    explicit Blob(std::string bytes) : bytes_(std::move(bytes)) {}
    const std::string& bytes() const { return bytes_; }
    bool operator==(const Blob&) const = default;

  private:
    std::string bytes_;
};

// "-12.50": an optional sign, digits, at most one point. Not checked; the database does.
class Decimal {
  public:
    Decimal() = default;
    explicit Decimal(std::string digits) : digits_(std::move(digits)) {}
    const std::string& digits() const { return digits_; }
    bool operator==(const Decimal&) const = default;

  private:
    std::string digits_;
};

enum class Kind : std::uint8_t { null, boolean, integer, real, text, blob, decimal, time };
// "an integer", for messages.
std::string_view phrase_for(Kind kind);

template <typename T>
inline constexpr bool is_optional = false;
template <typename T>
inline constexpr bool is_optional<std::optional<T>> = true;

class Value {
  public:
    Value() = default;
    Value(std::nullopt_t) {}  // NOLINT: parameters are written as they are
    Value(std::nullptr_t) = delete;
    template <typename T>
        requires std::same_as<T, bool>
    Value(T value) : kind_(Kind::boolean), integer_(value ? 1 : 0) {}  // NOLINT
    template <std::integral T>
        requires(!std::same_as<T, bool>)
    Value(T value) : kind_(Kind::integer) {  // NOLINT
        if (std::in_range<std::int64_t>(value)) {
            integer_ = static_cast<std::int64_t>(value);
        } else {
            kind_ = Kind::decimal;
            bytes_ = std::to_string(value);
        }
    }
    template <std::floating_point T>
    Value(T value) : kind_(Kind::real), real_(static_cast<double>(value)) {}       // NOLINT
    Value(std::string value) : kind_(Kind::text), bytes_(std::move(value)) {}      // NOLINT
    Value(std::string_view value) : kind_(Kind::text), bytes_(value) {}            // NOLINT
    Value(const char* value) : kind_(Kind::text), bytes_(value) {}                 // NOLINT
    Value(const Blob& value) : kind_(Kind::blob), bytes_(value.bytes()) {}         // NOLINT
    Value(const Decimal& value) : kind_(Kind::decimal), bytes_(value.digits()) {}  // NOLINT
    template <typename D>
    Value(std::chrono::sys_time<D> value)  // NOLINT
        : kind_(Kind::time) {
        // In floating point nothing overflows, and a number that is none is refused, too.
        const std::chrono::duration<long double, std::micro> wide(value.time_since_epoch());
        const bool fits = wide.count() >= microseconds_min && wide.count() < microseconds_end;
        if (!fits) refuse_time();
        integer_ = std::chrono::floor<std::chrono::microseconds>(value).time_since_epoch().count();
    }
    template <typename E>
        requires std::is_enum_v<E>
    Value(E value) : kind_(Kind::text), bytes_(name_of_enumerator(value)) {}  // NOLINT
    template <typename T>
        requires std::constructible_from<Value, const T&>
    Value(const std::optional<T>& value) {  // NOLINT
        if (value) *this = Value(*value);
    }
    // Values that reading JSON or a form has checked (json/checked.h).
    template <typename C>
        requires std::constructible_from<Value, const typename C::json_value&>
    Value(const C& checked) : Value(*checked) {}  // NOLINT

    Kind kind() const { return kind_; }
    std::int64_t integer() const { return integer_; }  // boolean, integer; time in microseconds
    double real() const { return real_; }
    const std::string& bytes() const { return bytes_; }  // text, blob, decimal

  private:
    template <typename E>
    static std::string_view name_of_enumerator(E value) {
        for (const EnumName& each : enum_names<E>) {
            if (each.value == static_cast<std::int64_t>(value)) return each.name;
        }
        refuse_enumerator();
    }
    [[noreturn]] static void refuse_enumerator();
    [[noreturn]] static void refuse_time();
    // The years 0001 to 9999.
    static constexpr long double microseconds_min = -62'135'596'800'000'000.0L;
    static constexpr long double microseconds_end = 253'402'300'800'000'000.0L;

    Kind kind_ = Kind::null;
    std::int64_t integer_ = 0;
    double real_ = 0;
    std::string bytes_;
};

// "2026-11-22 10:30:00.250000", in UTC and always as long, so that text orders as time does. Years
// 0001 to 9999; others throw Error{parameters}.
std::string time_text(std::int64_t microseconds);
// That, with ' ' or 'T' between, with up to nine digits of a second or none, with "Z", "+01",
// "+0100" or "+01:00" behind it, or nothing; and a date alone. Microseconds since 1970.
std::optional<std::int64_t> read_time(std::string_view text);

}  // namespace tiderace::db
