#include "lab/load_text.h"

#include <gtest/gtest.h>

namespace tiderace::lab {
namespace {

TEST(LoadText, SpellsFiguresForAPerson) {
    EXPECT_EQ(readable(0ns), "0 us");
    EXPECT_EQ(readable(999us), "999 us");
    EXPECT_EQ(readable(2'500us), "2.50 ms");
    EXPECT_EQ(readable(61s), "61.00 s");
    EXPECT_EQ(readable_bytes(999), "999 B");
    EXPECT_EQ(readable_bytes(1'500), "1.5 kB");
    EXPECT_EQ(readable_bytes(3e6), "3.0 MB");
    EXPECT_EQ(readable_bytes(7e9), "7.00 GB");
    EXPECT_EQ(per_second(10, 2s), 5);
    EXPECT_EQ(per_second(10, 0s), 0);
    EXPECT_EQ(each_us(1s, 1'000), 1'000);
    EXPECT_EQ(each_us(1s, 0), 0);
}

TEST(LoadText, WritesJson) {
    JsonObject object;
    EXPECT_EQ(object.text(), "{}");
    object.add("n", std::uint64_t{7}).add("t", 3us).add("x", 0.5, 2).add("s", "a\"b\n");
    object.add_flag("yes", true).add_json("list", "[1,2]");
    EXPECT_EQ(object.text(),
              "{\"n\":7,\"t\":3000,\"x\":0.50,\"s\":\"a\\\"b\\n\",\"yes\":true,\"list\":[1,2]}");
}

}  // namespace
}  // namespace tiderace::lab
