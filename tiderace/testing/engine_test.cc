#include "tiderace/testing/engine.h"

#include <gmock/gmock.h>

#include <algorithm>

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
        if (name == "io_uring-together") continue;  // another way to use the machine's
        EXPECT_NE(is_stand_in(name), core::engine_names().contains(name)) << name;
    }
}

TEST(Engines, IoUringIsThereInBothWaysOrNotAtAll) {
    const std::vector<std::string> names = engine_names();
    EXPECT_EQ(std::ranges::count_if(names, is_io_uring),
              core::engine_names().contains("io_uring") ? 2 : 0);
    for (const std::string& name : names) {
        if (!is_io_uring(name)) continue;
        const auto made = make_engine(name, {});
        ASSERT_TRUE(made);
        EXPECT_EQ((*made)->name(), "io_uring");
    }
}

TEST(Engines, AnUnknownOneIsRefused) {
    EXPECT_FALSE(make_engine("iocp", {}));
}

}  // namespace
}  // namespace tiderace::testing
