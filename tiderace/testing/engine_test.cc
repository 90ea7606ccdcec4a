#include "tiderace/testing/engine.h"

#include <gmock/gmock.h>

namespace tiderace::testing {
namespace {

TEST(Engines, KqueueIsAmongThemEverywhere) {
    EXPECT_THAT(engine_names(), ::testing::Contains("kqueue"));
    const auto made = make_engine("kqueue", {});
    ASSERT_TRUE(made);
    EXPECT_EQ((*made)->name(), "kqueue");
}

TEST(Engines, AStandInIsWhatTheMachineHasNot) {
    for (const std::string& name : engine_names()) {
        EXPECT_NE(is_stand_in(name), core::engine_names().contains(name)) << name;
    }
}

TEST(Engines, AnUnknownOneIsRefused) {
    EXPECT_FALSE(make_engine("iocp", {}));
}

}  // namespace
}  // namespace tiderace::testing
