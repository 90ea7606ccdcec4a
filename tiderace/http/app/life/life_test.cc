#include "tiderace/http/app/life/life.h"

#include <gtest/gtest.h>

namespace tiderace::http::app_parts {
namespace {

TEST(Life, DrainsOnceHoweverOftenItIsAsked) {
    Life life;
    int stops = 0;
    life.attach([&] { ++stops; });
    EXPECT_FALSE(life.draining());
    life.drain();
    life.drain();
    EXPECT_TRUE(life.draining());
    EXPECT_EQ(stops, 1);
}

TEST(Life, ADrainBeforeItServesIsRemembered) {
    Life life;
    life.drain();
    int stops = 0;
    life.attach([&] { ++stops; });
    EXPECT_EQ(stops, 1);
}

TEST(Life, AfterASignalADrainDoesNotStopItAgain) {
    Life life;
    int stops = 0;
    life.attach([&] { ++stops; });
    life.begin();
    EXPECT_TRUE(life.draining());
    life.drain();
    EXPECT_EQ(stops, 0);
}

TEST(Life, ItMayServeAgain) {
    Life life;
    life.attach([] {});
    life.drain();
    life.detach();
    EXPECT_FALSE(life.draining());
    int stops = 0;
    life.attach([&] { ++stops; });
    EXPECT_EQ(stops, 0);
}

TEST(Life, OneLoopIsTheFirstUntilItGivesThatBack) {
    Life life;
    EXPECT_TRUE(life.claim_first_loop());
    EXPECT_FALSE(life.claim_first_loop());
    life.release_first_loop();
    EXPECT_TRUE(life.claim_first_loop());
}

}  // namespace
}  // namespace tiderace::http::app_parts
