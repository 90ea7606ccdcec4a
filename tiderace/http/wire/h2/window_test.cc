#include "tiderace/http/wire/h2/window.h"

#include <gtest/gtest.h>

namespace tiderace::http::wire {
namespace {

TEST(H2SendWindow, SpendsAndGrows) {
    H2SendWindow window(10);
    window.spend(10);
    EXPECT_EQ(window.available(), 0U);
    EXPECT_TRUE(window.grow(3));
    EXPECT_EQ(window.available(), 3U);
}

TEST(H2SendWindow, MayNotGrowBeyondTwoToThe31) {
    H2SendWindow window(0x7fff'fffe);
    EXPECT_TRUE(window.grow(1));
    EXPECT_FALSE(window.grow(1));
    H2SendWindow other(65'535);
    EXPECT_TRUE(other.grow(0x7fff'ffff - 65'535));
    EXPECT_FALSE(other.move(65'535, 65'536));
    EXPECT_FALSE(H2SendWindow(1).grow(0x7fff'ffff));
}

TEST(H2SendWindow, GoesBelowZeroWhenTheInitialSizeShrinks) {
    H2SendWindow window(100);
    window.spend(80);
    EXPECT_TRUE(window.move(100, 10));
    EXPECT_EQ(window.bytes(), -70);
    EXPECT_EQ(window.available(), 0U);
    EXPECT_TRUE(window.grow(70));
    EXPECT_EQ(window.available(), 0U);
    EXPECT_TRUE(window.move(10, 11));
    EXPECT_EQ(window.available(), 1U);
    // From the largest to nothing and back: no step overflows.
    H2SendWindow wide(0x7fff'ffff);
    wide.spend(0x7fff'ffff);
    EXPECT_TRUE(wide.move(0x7fff'ffff, 0));
    EXPECT_EQ(wide.bytes(), -0x7fff'ffffLL);
    EXPECT_TRUE(wide.move(0, 0x7fff'ffff));
    EXPECT_EQ(wide.bytes(), 0);
}

TEST(H2SendWindowDeathTest, SpendingMoreThanThereIsIsOurFault) {
    H2SendWindow window(10);
    EXPECT_DEATH(window.spend(11), "peer's window");
}

TEST(H2ReceiveWindow, TakesWhatItAnnouncedAndNoMore) {
    H2ReceiveWindow window(100);
    EXPECT_TRUE(window.receive(60));
    EXPECT_TRUE(window.receive(40));
    EXPECT_TRUE(window.receive(0));
    EXPECT_FALSE(window.receive(1));
    EXPECT_EQ(window.open(), 0U);
}

TEST(H2ReceiveWindow, AnnouncesWhenHalfOfItIsFree) {
    H2ReceiveWindow window(100);
    ASSERT_TRUE(window.receive(100));
    EXPECT_EQ(window.give_back(49), 0U);
    EXPECT_EQ(window.open(), 0U);
    EXPECT_EQ(window.give_back(1), 50U);
    EXPECT_EQ(window.open(), 50U);
    EXPECT_EQ(window.give_back(10), 0U);
    EXPECT_EQ(window.announce(), 10U);
    EXPECT_EQ(window.announce(), 0U);
    EXPECT_EQ(window.open(), 60U);
}

TEST(H2ReceiveWindow, KnowsWhatIsTaken) {
    H2ReceiveWindow window(100);
    EXPECT_EQ(window.taken(), 0U);
    ASSERT_TRUE(window.receive(70));
    EXPECT_EQ(window.taken(), 70U);
    EXPECT_EQ(window.give_back(20), 0U);
    EXPECT_EQ(window.taken(), 50U);
    window.enlarge(1'000);
    EXPECT_EQ(window.taken(), 50U);
    EXPECT_EQ(window.announce(), 920U);
    EXPECT_EQ(window.taken(), 50U);
}

TEST(H2ReceiveWindowDeathTest, GivingBackMoreThanCameIsOurFault) {
    H2ReceiveWindow window(100);
    ASSERT_TRUE(window.receive(10));
    EXPECT_DEATH(window.give_back(11), "more is given back");
}

TEST(H2ReceiveWindow, GivingBackNothingAnnouncesNothing) {
    H2ReceiveWindow window(0);
    EXPECT_EQ(window.give_back(0), 0U);
}

TEST(H2ReceiveWindow, GrowsAndNeverShrinks) {
    H2ReceiveWindow window(100);
    window.enlarge(50);
    EXPECT_EQ(window.size(), 100U);
    window.enlarge(1000);
    EXPECT_EQ(window.open(), 100U);
    EXPECT_EQ(window.announce(), 900U);
    EXPECT_EQ(window.open(), 1000U);
    H2ReceiveWindow widest(h2_window_bytes_max);
    EXPECT_TRUE(widest.receive(h2_window_bytes_max));
    EXPECT_EQ(widest.give_back(h2_window_bytes_max), h2_window_bytes_max);
    EXPECT_EQ(widest.open(), h2_window_bytes_max);
}

}  // namespace
}  // namespace tiderace::http::wire
