#include "tiderace/core/shared.h"

#include <gtest/gtest.h>

namespace tiderace::core {
namespace {

struct Counted : Shared {
    explicit Counted(int& count) : deaths(&count) {}
    ~Counted() override { ++*deaths; }
    int* deaths;
};

TEST(Ref, TheLastOwnerEndsTheObject) {
    int deaths = 0;
    {
        Ref<Counted> first = make_ref<Counted>(deaths);
        EXPECT_TRUE(first.only_owner());
        Ref<Shared> second = first;
        EXPECT_FALSE(first.only_owner());
        first = {};
        EXPECT_EQ(deaths, 0);
        EXPECT_TRUE(second.only_owner());
    }
    EXPECT_EQ(deaths, 1);
}

TEST(Ref, MovingChangesNoCount) {
    int deaths = 0;
    Ref<Counted> first = make_ref<Counted>(deaths);
    Ref<Counted> second = std::move(first);
    EXPECT_FALSE(first);  // NOLINT(bugprone-use-after-move): a moved-from one is empty
    EXPECT_TRUE(second.only_owner());
    Ref<Counted>& itself = second;
    second = std::move(itself);
    EXPECT_EQ(deaths, 0);
}

}  // namespace
}  // namespace tiderace::core
