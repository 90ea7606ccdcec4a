#include "tiderace/db/row.h"

#include <gtest/gtest.h>

#include "tiderace/db/error.h"

namespace tiderace::db {
namespace {

enum class Colour { red, green };

Batch row_of(std::vector<std::string> names, auto fill) {
    Batch batch(std::make_shared<const std::vector<std::string>>(std::move(names)));
    fill(batch);
    return batch;
}

template <typename T>
std::string complaint(const Batch& batch) {
    try {
        RowReader<T>(batch).read(batch, 0);
    } catch (const Error& error) {
        EXPECT_EQ(error.kind(), Fault::row);
        return error.message();
    }
    return "none";
}

template <typename T>
T value_of(const Batch& batch) {
    return RowReader<T>(batch).read(batch, 0);
}

Batch decimal(std::string_view digits) {
    return row_of({"n"}, [&](Batch& b) { b.add_bytes(Kind::decimal, digits); });
}
Batch text(std::string_view bytes) {
    return row_of({"t"}, [&](Batch& b) { b.add_bytes(Kind::text, bytes); });
}
Batch integer(std::int64_t value) {
    return row_of({"n"}, [&](Batch& b) { b.add_number(Kind::integer, value); });
}

TEST(Row, NumbersAreReadWhereTheyAreExact) {
    EXPECT_EQ(value_of<std::uint64_t>(decimal("18446744073709551615")), UINT64_MAX);
    EXPECT_EQ(value_of<int>(decimal("12.000")), 12);
    EXPECT_EQ(complaint<int>(decimal("12.5")), "column n: a decimal where an integer is expected");
    EXPECT_EQ(value_of<double>(decimal("12.5")), 12.5);
    EXPECT_EQ(value_of<double>(integer(3)), 3.0);
    EXPECT_EQ(value_of<Decimal>(integer(3)), Decimal("3"));
    EXPECT_EQ(value_of<bool>(integer(1)), true);
    EXPECT_EQ(complaint<bool>(integer(2)),
              "column n: an integer other than 0 and 1 where a boolean is expected");
    EXPECT_EQ(complaint<std::uint8_t>(integer(256)), "column n: out of the range of its member");
    EXPECT_EQ(complaint<std::uint64_t>(integer(-1)), "column n: out of the range of its member");
}

TEST(Row, TextIsCheckedAndEnumsHaveNames) {
    EXPECT_EQ(value_of<Colour>(text("green")), Colour::green);
    EXPECT_EQ(complaint<Colour>(text("blue")), "column t: text that is not an enumerator's name");
    EXPECT_EQ(complaint<std::string>(text("\xff")), "column t: text that is not UTF-8");
    EXPECT_EQ(complaint<Blob>(text("x")), "column t: text where a blob is expected");
    EXPECT_EQ(value_of<std::chrono::sys_seconds>(text("1970-01-01 00:00:01.9")),
              std::chrono::sys_seconds(std::chrono::seconds(1)));
    EXPECT_EQ(complaint<Time>(text("soon")), "column t: text where a time is expected");
    EXPECT_EQ(complaint<Decimal>(text("1e5")), "column t: text where a decimal is expected");
}

Batch time(std::int64_t microseconds) {
    return row_of({"t"}, [&](Batch& b) { b.add_number(Kind::time, microseconds); });
}

TEST(Row, ATimeThatItsMemberCannotHoldIsAnError) {
    using Nano = std::chrono::sys_time<std::chrono::nanoseconds>;
    using Short = std::chrono::sys_time<std::chrono::duration<std::int32_t>>;
    constexpr std::int64_t last = INT64_MAX / 1'000;
    EXPECT_EQ(value_of<Nano>(time(last)).time_since_epoch().count(), last * 1'000);
    EXPECT_EQ(value_of<Nano>(time(-last)).time_since_epoch().count(), -last * 1'000);
    const std::string out = "column t: out of the range of its member";
    EXPECT_EQ(complaint<Nano>(time(last + 1)), out);
    EXPECT_EQ(complaint<Nano>(time(-last - 1)), out);
    EXPECT_EQ(complaint<Nano>(text("2300-01-01 00:00:00")), out);
    EXPECT_EQ(complaint<std::optional<Nano>>(text("1600-01-01 00:00:00")), out);
    EXPECT_EQ(value_of<Short>(text("2038-01-19 03:14:07.9")).time_since_epoch().count(), INT32_MAX);
    EXPECT_EQ(complaint<Short>(text("2038-01-19 03:14:08")), out);
    using Days = std::chrono::sys_time<std::chrono::duration<double, std::ratio<86'400>>>;
    EXPECT_EQ(value_of<Days>(text("9999-12-31 12:00:00")).time_since_epoch().count(), 2'932'896.5);
    EXPECT_EQ(value_of<std::chrono::sys_days>(text("1969-12-31 23:59:59")),
              std::chrono::sys_days(std::chrono::days(-1)));
}

struct Pair {
    int a;
    std::optional<int> b;
};

TEST(Row, ColumnsAreMatchedByName) {
    const Batch batch = row_of({"b", "a"}, [](Batch& b) {
        b.add_null();
        b.add_number(Kind::integer, 4);
    });
    const Pair pair = value_of<Pair>(batch);
    EXPECT_EQ(pair.a, 4);
    EXPECT_EQ(pair.b, std::nullopt);
    const Batch twice = row_of({"a", "b", "a"}, [](Batch&) {});
    EXPECT_EQ(complaint<Pair>(twice), "column a is there twice");
    const auto tuple = value_of<std::tuple<std::optional<int>, int>>(batch);
    EXPECT_EQ(tuple, (std::tuple<std::optional<int>, int>(std::nullopt, 4)));
}

// The columns that were matched last are remembered for each type.
TEST(Row, ColumnsInAnotherOrderAreMatchedAnew) {
    const auto numbers = [](Batch& b) {
        b.add_number(Kind::integer, 1);
        b.add_number(Kind::integer, 2);
    };
    const Batch straight = row_of({"a", "b"}, numbers);
    const Batch reversed = row_of({"b", "a"}, numbers);
    const Batch wrong = row_of({"a", "c"}, numbers);
    for (int round = 0; round < 2; ++round) {
        EXPECT_EQ(value_of<Pair>(straight).a, 1);
        EXPECT_EQ(value_of<Pair>(straight).b, 2);
        EXPECT_EQ(value_of<Pair>(reversed).a, 2);
        EXPECT_EQ(complaint<Pair>(wrong), "no column b among: a, c");
        EXPECT_EQ(complaint<Pair>(wrong), "no column b among: a, c") << "again";
        EXPECT_EQ(value_of<Pair>(reversed).b, 1);
    }
    // Columns of the same names at the place where others have been before.
    for (int n = 0; n < 20; ++n) {
        const Batch batch = n % 2 == 0 ? row_of({"a", "b"}, numbers) : row_of({"b", "a"}, numbers);
        EXPECT_EQ(value_of<Pair>(batch).a, n % 2 == 0 ? 1 : 2);
    }
}

}  // namespace
}  // namespace tiderace::db
