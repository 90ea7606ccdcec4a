#include "tiderace/http/wire/h2/big_endian.h"

#include <gtest/gtest.h>

#include <array>

namespace tiderace::http::wire {
namespace {

TEST(BigEndian, ReadsWhatItWritesWithTheHighestByteFirst) {
    std::array<char, 8> bytes{};
    write_big_endian<3>(bytes.data(), 0x01'02'ff);
    EXPECT_EQ(bytes, (std::array<char, 8>{1, 2, static_cast<char>(0xff)}));
    EXPECT_EQ(read_big_endian<3>(bytes.data()), 0x01'02'ffU);
    write_big_endian<8>(bytes.data(), 0xfedc'ba98'7654'3210);
    EXPECT_EQ(read_big_endian<8>(bytes.data()), 0xfedc'ba98'7654'3210U);
    EXPECT_EQ(read_big_endian<2>(bytes.data()), 0xfedcU);
}

}  // namespace
}  // namespace tiderace::http::wire
