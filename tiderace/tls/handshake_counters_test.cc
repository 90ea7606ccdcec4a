#include "tiderace/tls/handshake_counters.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>
#include <utility>

namespace tiderace::tls {
namespace {

TEST(HandshakeCounters, EveryFailureHasANameOfItsOwn) {
    std::set<std::string_view> names;
    for (int i = 0; i < static_cast<int>(HandshakeFailure::count_); ++i) {
        names.insert(to_string(static_cast<HandshakeFailure>(i)));
    }
    EXPECT_EQ(names.size(), static_cast<std::size_t>(HandshakeFailure::count_));
    EXPECT_FALSE(names.contains(""));
}

TEST(HandshakeCounters, ThoseOfAllLoopsAreOnThePage) {
    HandshakeCounters one;
    HandshakeCounters two;
    one.tls_1_3.full += 3;
    two.tls_1_3.full += 4;
    two.tls_1_2.resumed += 2;
    ++one.failed[static_cast<std::size_t>(HandshakeFailure::peer_gone)];
    one.durations.observe(7'000'000);
    EXPECT_EQ(two.done(), 6U);
    EXPECT_EQ(two.resumed(), 2U);
    metrics::Page page(metrics::PageFormat::prometheus);
    add_handshakes(page, std::vector<const HandshakeCounters*>{&one, &two});
    const std::string all = std::move(page).take();
    const auto counted = [](const std::string& labels, int count) {
        return ::testing::HasSubstr("tls_handshakes_total{" + labels + "} " +
                                    std::to_string(count) + "\n");
    };
    EXPECT_THAT(all, counted(R"(version="1.3",result="done",resumed="false")", 7));
    EXPECT_THAT(all, counted(R"(version="1.3",result="done",resumed="true")", 0));
    EXPECT_THAT(all, counted(R"(version="1.2",result="done",resumed="true")", 2));
    EXPECT_THAT(all, counted(R"(version="",result="peer_gone",resumed="")", 1));
    EXPECT_THAT(all, ::testing::HasSubstr("duration_seconds_bucket{le=\"0.01\"} 1\n"));
    EXPECT_THAT(all, ::testing::HasSubstr("duration_seconds_sum 0.007\n"));
}

}  // namespace
}  // namespace tiderace::tls
