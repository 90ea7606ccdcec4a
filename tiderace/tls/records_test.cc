#include "tiderace/tls/records.h"

#include <gtest/gtest.h>

#include <string>

namespace tiderace::tls {
namespace {

std::string record(std::size_t bytes) {
    std::string made{23, 3, 3, static_cast<char>(bytes >> 8U), static_cast<char>(bytes)};
    return made + std::string(bytes, 'x');
}

TEST(Records, AreReadyWhenTheyAreWhole) {
    const std::string two = record(10) + record(0);
    for (std::size_t bytes = 0; bytes <= two.size(); ++bytes) {
        const std::size_t expected = bytes < 15 ? 0 : bytes < 20 ? 15 : 20;
        EXPECT_EQ(ready_bytes(ByteView(two).substr(0, bytes), 100), expected) << bytes;
    }
}

TEST(Records, ThatAreTooLongAreReadyWithTheirHeaderAndEndTheRest) {
    const std::string three = record(10) + record(96) + record(10);
    EXPECT_EQ(ready_bytes(three, 101), three.size());
    EXPECT_EQ(ready_bytes(three, 100), 20U);
    EXPECT_EQ(openable_bytes(record(95), 100), 100U);
    EXPECT_EQ(openable_bytes(record(96), 100), 5U);
    EXPECT_EQ(openable_bytes(record(96).substr(0, 4), 100), 0U);
    EXPECT_EQ(declared_bytes(record(65'535)), 65'540U);
}

}  // namespace
}  // namespace tiderace::tls
