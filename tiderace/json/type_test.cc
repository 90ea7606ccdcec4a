#include "tiderace/json/type.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <limits>

#include "tiderace/json/type_of.h"

namespace tiderace::json {
namespace {

template <typename T>
void expect_kept(T value) {
    T copy{};
    const std::int64_t read = load_integer(&value, sizeof(T), std::is_signed_v<T>);
    EXPECT_EQ(static_cast<T>(read), value);
    EXPECT_EQ(read < 0, value < 0 || (sizeof(T) == 8 && static_cast<std::int64_t>(value) < 0));
    store_integer(&copy, sizeof(T), static_cast<std::uint64_t>(read));
    EXPECT_EQ(copy, value);
}

template <typename... T>
void expect_limits_kept() {
    (expect_kept(std::numeric_limits<T>::min()), ...);
    (expect_kept(std::numeric_limits<T>::max()), ...);
}

TEST(JsonType, LoadsAndStoresIntegersOfEveryWidth) {
    expect_limits_kept<std::int8_t, std::int16_t, std::int32_t, std::int64_t, std::uint8_t,
                       std::uint16_t, std::uint32_t, std::uint64_t>();
}

TEST(JsonType, SaysWhatItExpects) {
    EXPECT_EQ(expected_text(type_of<std::int8_t>), "an integer from -128 to 127");
    EXPECT_EQ(expected_text(type_of<std::uint8_t>), "an integer from 0 to 255");
    EXPECT_EQ(expected_text(type_of<std::int64_t>),
              "an integer from -9223372036854775808 to 9223372036854775807");
    EXPECT_EQ(expected_text(type_of<std::uint64_t>), "an integer from 0 to 18446744073709551615");
    EXPECT_EQ(expected_text(type_of<double>), "a number");
    EXPECT_EQ(expected_text(type_of<bool>), "true or false");
}

}  // namespace
}  // namespace tiderace::json
