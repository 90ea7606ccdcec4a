#include "tiderace/net/close_reason.h"

#include <gtest/gtest.h>

#include <set>

namespace tiderace::net {
namespace {

TEST(CloseReasons, EachHasItsOwnName) {
    std::set<std::string_view> names;
    for (int i = 0; i < static_cast<int>(CloseReason::count_); ++i) {
        names.insert(to_string(static_cast<CloseReason>(i)));
    }
    EXPECT_EQ(names.size(), static_cast<std::size_t>(CloseReason::count_));
    EXPECT_EQ(to_string(CloseReason::server_stopped), "server_stopped");
}

TEST(CloseReasons, OnlyABrokenLimitAndAMissingPartCut) {
    for (const CloseReason reason :
         {CloseReason::finished, CloseReason::peer_finished, CloseReason::idle_expired,
          CloseReason::source_shrank, CloseReason::aborted, CloseReason::server_stopped}) {
        EXPECT_FALSE(is_cut(reason)) << to_string(reason);
    }
    for (const CloseReason reason :
         {CloseReason::deadline_expired, CloseReason::write_stalled, CloseReason::queue_overflow,
          CloseReason::unread_overflow, CloseReason::send_memory_full, CloseReason::output_cut}) {
        EXPECT_TRUE(is_cut(reason)) << to_string(reason);
    }
}

}  // namespace
}  // namespace tiderace::net
