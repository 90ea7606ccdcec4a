#include "server/descriptor_shares.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace tiderace::server {
namespace {

TEST(DescriptorShares, NothingIsPromisedTwice) {
    for (const std::uint64_t limit : {60U, 64U, 100U, 256U, 1'024U, 20'000U, 1'048'576U}) {
        for (const std::size_t loops : {1U, 2U, 4U}) {
            for (const std::size_t folders : {0U, 1U, 100U}) {
                const bool redirects = folders == 1;
                const DescriptorNeeds needs{
                    .loops = loops, .folders = folders, .path_logs = 3, .redirects = redirects};
                if (limit < descriptors_needed(needs) + 8 * loops) continue;
                const auto shares = share_descriptors(limit, needs);
                SCOPED_TRACE(std::to_string(limit) + " for " + std::to_string(loops));
                const std::size_t all = descriptors_needed(needs) + shares.connections_max_of_all +
                                        shares.redirects_max * loops +
                                        shares.files_open_max * loops;
                EXPECT_LE(all, limit);
                EXPECT_GE(shares.connections_max_of_all, 1U);
                EXPECT_GE(shares.files_open_max, 2U);
            }
        }
    }
}

TEST(DescriptorShares, EachFolderHasItsRootItsNoticesAndTwoFilesOnEachLoop) {
    EXPECT_EQ(descriptors_needed({.loops = 2, .folders = 101}) - descriptors_needed({.loops = 2}),
              2U * 100 * 4);
}

TEST(DescriptorShares, TheAdminSocketHasItsOwn) {
    EXPECT_EQ(descriptors_needed({.side_servers = 2}) - descriptors_needed({}), 34U);
}

TEST(DescriptorShares, FilesKeepAnEighthWhateverConnectionsWant) {
    const auto shares = share_descriptors(1'000, {.loops = 2, .connections_max = 10'000});
    EXPECT_GE(shares.files_open_max * 2, 1'000U / 8 - 2 * 2);
}

TEST(DescriptorShares, FewerConnectionsThanThereIsRoomForLeaveMoreToFiles) {
    const auto many = share_descriptors(1'000, {.loops = 2});
    const auto few = share_descriptors(1'000, {.loops = 2, .connections_max = 10});
    EXPECT_EQ(few.connections_max_of_all, 10U);
    EXPECT_EQ(few.connections_max, 10U) << "one loop may have them all";
    EXPECT_GT(few.files_open_max, many.files_open_max);
}

TEST(DescriptorShares, SmallLoopsGetTheirPartOfTheConnections) {
    const auto shares =
        share_descriptors(20'000, {.loops = 10, .small_loops = true, .connections_max = 10});
    EXPECT_EQ(shares.connections_max, 1U);
}

}  // namespace
}  // namespace tiderace::server
