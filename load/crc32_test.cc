#include "load/crc32.h"

#include <gtest/gtest.h>

#include <string>

namespace tiderace::load {
namespace {

TEST(Crc32, IsTheOneOfGzip) {
    EXPECT_EQ(crc32(0, ""), 0U);
    EXPECT_EQ(crc32(0, "123456789"), 0xcbf43926U);
    EXPECT_EQ(crc32(0, std::string(1'000, '\xff')),
              crc32(crc32(0, std::string(1, '\xff')), std::string(999, '\xff')));
}

TEST(Crc32, GoesOnFromPieceToPiece) {
    const std::string text = "a body that comes in two pieces";
    for (std::size_t cut = 0; cut <= text.size(); ++cut) {
        EXPECT_EQ(crc32(crc32(0, text.substr(0, cut)), text.substr(cut)), crc32(0, text));
    }
}

}  // namespace
}  // namespace tiderace::load
