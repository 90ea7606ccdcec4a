#include "tiderace/tls/ticket_keys.h"

#include <gtest/gtest.h>

namespace tiderace::tls {
namespace {

TEST(TicketKeys, TakeOlderKeysUntilThereAreTooMany) {
    auto keys = *TicketKeys::fresh();
    const auto first = keys->sealing().name;
    for (std::size_t i = 1; i < TicketKeys::keys_max; ++i) {
        keys = *keys->rotated();
        EXPECT_NE(keys->sealing().name, first);
        EXPECT_NE(keys->find(first.data()), nullptr);
    }
    keys = *keys->rotated();
    EXPECT_EQ(keys->find(first.data()), nullptr);
    EXPECT_EQ(keys->size(), TicketKeys::keys_max);
}

TEST(TicketKeys, AreNeverTheSameTwice) {
    const auto one = *TicketKeys::fresh();
    const auto two = *TicketKeys::fresh();
    EXPECT_NE(one->sealing().name, two->sealing().name);
    EXPECT_NE(one->sealing().cipher_key, two->sealing().cipher_key);
    EXPECT_NE(one->sealing().mac_key, two->sealing().mac_key);
    EXPECT_EQ(one->find(two->sealing().name.data()), nullptr);
}

TEST(TicketShare, GivesTheSameToAllAndRenewsThemAfterEachPeriod) {
    TicketShare share(1h);
    const Instant began(5h);
    const auto first = *share.keys(began);
    EXPECT_EQ(*share.keys(began), first);
    EXPECT_EQ(*share.keys(began + 1h - 1ns), first);
    const auto second = *share.keys(began + 1h);
    EXPECT_NE(second, first);
    EXPECT_NE(second->find(first->sealing().name.data()), nullptr);
    // A loop whose turn began earlier.
    EXPECT_EQ(*share.keys(began + 1h - 1ns), second);
    EXPECT_EQ(*share.keys(began + 2h - 1ns), second);
    EXPECT_NE(*share.keys(began + 2h), second);
}

TEST(TicketShare, MayKeepItsKeysForEver) {
    TicketShare share(Duration::max());
    const auto keys = *share.keys(Instant(1h));
    EXPECT_EQ(*share.keys(Instant(1'000h)), keys);
}

}  // namespace
}  // namespace tiderace::tls
