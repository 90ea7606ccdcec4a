// Rows as C++ values: plain structs by the names of their members, tuples by position, one column
// as a scalar.
//
//   struct Member { std::int64_t id; std::string name; std::optional<db::Time> seen; };
//   all<Member>("select id, name, seen from member")      the order does not matter
//   all<std::tuple<std::int64_t, std::string>>("select id, name from member")
//   one<std::int64_t>("select count(*) from member")
//
//   bool                   a boolean; 0 or 1
//   integers               an integer in range; a decimal without a fraction
//   float, double          any number
//   std::string            text, checked as UTF-8
//   Blob, Decimal          bytes; a number in digits, never a floating-point one
//   std::chrono::sys_time  a time that fits (nanoseconds end in 2262); in SQLite, text of that form
//                          (read_time in value.h)
//   an enum class          text: the name of an enumerator
//   std::optional<T>       a T, or null
//
// Errors   Error{row} with the column's name: one that no member has, a member without one, two of
//          a name, null where T is no optional, another type, a number out of range, text that is
//          not UTF-8.
// Thread   Any; pure functions.
// Keywords: ORM, result set
#pragma once

#include <array>
#include <chrono>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <numeric>
#include <optional>
#include <ratio>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "tiderace/base/enum_names.h"
#include "tiderace/base/members.h"
#include "tiderace/db/batch.h"

namespace tiderace::db {

// A column's cell, and what a message needs.
struct Place {
    const Cell& cell;
    std::string_view column;
};

[[noreturn]] void refuse(const Place& place, std::string_view wanted);
[[noreturn]] void refuse_range(const Place& place);
bool read_boolean(const Place& place);
std::int64_t read_integer(const Place& place, std::int64_t min, std::int64_t max);
std::uint64_t read_unsigned(const Place& place);
double read_real(const Place& place);
std::string read_text(const Place& place);
Blob read_blob(const Place& place);
Decimal read_decimal(const Place& place);
std::int64_t read_microseconds(const Place& place);
std::int64_t read_enumerator(const Place& place, std::span<const EnumName> names);
// Writes for each member the index of its column.
void match_columns(const std::vector<std::string>& columns,
                   std::span<const std::string_view> members, std::span<std::size_t> found);
// Each position is its own column: there are as many.
void check_width(const std::vector<std::string>& columns, std::size_t wanted);

template <typename T>
inline constexpr bool is_time = false;
template <typename D>
inline constexpr bool is_time<std::chrono::sys_time<D>> = true;
template <typename T>
inline constexpr bool is_tuple = false;
template <typename... T>
inline constexpr bool is_tuple<std::tuple<T...>> = true;

template <typename T>
T read_time_point(const Place& place) {
    using Own = typename T::duration;
    using Number = typename Own::rep;
    using Micro = std::chrono::microseconds;
    const Micro since(read_microseconds(place));
    if constexpr (std::chrono::treat_as_floating_point_v<Number>) {
        return T(Own(since));
    } else if constexpr (std::ratio_less_v<typename Own::period, std::micro>) {
        // Nanoseconds in 64 bits end in the year 2262.
        const bool fits = since >= std::chrono::duration_cast<Micro>(Own::min()) &&
                          since <= std::chrono::duration_cast<Micro>(Own::max());
        if (!fits) refuse_range(place);
        return T(std::chrono::duration_cast<Own>(since));
    } else {
        using Wide = std::chrono::duration<std::int64_t, typename Own::period>;
        const std::int64_t count = std::chrono::floor<Wide>(since).count();
        if (!std::in_range<Number>(count)) refuse_range(place);
        return T(Own(static_cast<Number>(count)));
    }
}

template <typename T>
T read_cell(const Place& place) {
    if constexpr (is_optional<T>) {
        if (place.cell.kind == Kind::null) return std::nullopt;
        return read_cell<typename T::value_type>(place);
    } else if constexpr (std::same_as<T, bool>) {
        return read_boolean(place);
    } else if constexpr (std::same_as<T, std::uint64_t> || std::same_as<T, unsigned long long>) {
        return read_unsigned(place);
    } else if constexpr (std::integral<T>) {
        return static_cast<T>(
            read_integer(place, std::numeric_limits<T>::min(), std::numeric_limits<T>::max()));
    } else if constexpr (std::floating_point<T>) {
        return static_cast<T>(read_real(place));
    } else if constexpr (std::same_as<T, std::string>) {
        return read_text(place);
    } else if constexpr (std::same_as<T, Blob>) {
        return read_blob(place);
    } else if constexpr (std::same_as<T, Decimal>) {
        return read_decimal(place);
    } else if constexpr (is_time<T>) {
        return read_time_point<T>(place);
    } else {
        static_assert(std::is_enum_v<T>, "no column can be read as this type (tiderace/db/row.h)");
        return static_cast<T>(read_enumerator(place, enum_names<T>));
    }
}

// Reads the rows of one result: its columns are matched once.
template <typename T>
class RowReader {
  public:
    explicit RowReader(const Batch& batch) {
        if constexpr (PlainStruct<T>) {
            // A statement that is kept has the same columns each time, so their names are compared
            // once.
            thread_local Matched last;
            if (last.columns != batch.columns()) {
                last.columns = nullptr;  // match_columns() may throw
                match_columns(*batch.columns(), member_names<T>, last.found);
                last.columns = batch.columns();
            }
            columns_ = last.found;
        } else {
            check_width(*batch.columns(), width);
            std::iota(columns_.begin(), columns_.end(), std::size_t{0});
        }
    }

    T read(const Batch& batch, std::size_t row) const {
        const auto cell = [&]<typename M>(std::size_t index, std::type_identity<M>) {
            const std::size_t column = columns_[index];
            const Cell made = batch.cell(row, column);
            return read_cell<M>({made, (*batch.columns())[column]});
        };
        if constexpr (PlainStruct<T>) {
            return read_members(cell);
        } else if constexpr (is_tuple<T>) {
            return [&]<std::size_t... i>(std::index_sequence<i...>) {
                return T{cell(i, std::type_identity<std::tuple_element_t<i, T>>())...};
            }(std::make_index_sequence<std::tuple_size_v<T>>());
        } else {
            return cell(0, std::type_identity<T>());
        }
    }

  private:
    static constexpr std::size_t width = [] {
        if constexpr (PlainStruct<T>) return member_count<T>;
        if constexpr (is_tuple<T>) return std::tuple_size_v<T>;
        return std::size_t{1};
    }();

    using Found = std::array<std::size_t, width>;
    struct Matched {
        Batch::Columns columns;
        Found found;
    };

    // On its own, so that the value is made where the caller has its place.
    static T read_members(const auto& cell) {
        T value{};
        std::size_t next = 0;
        for_each_member(value, [&](std::string_view, auto& member) {
            member = cell(next++, std::type_identity<std::remove_cvref_t<decltype(member)>>());
        });
        return value;
    }

    Found columns_;
};

}  // namespace tiderace::db
