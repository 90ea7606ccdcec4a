#include "tiderace/http/places.h"

#include <gtest/gtest.h>

#include <vector>

namespace tiderace::http {
namespace {

using core::ClientKey;

ClientKey client(int number) {
    return ClientKey(*core::Address::parse("192.0.2." + std::to_string(number) + ":80"));
}

// How many places the client gets now.
int take_all(Places& places, const ClientKey& client) {
    int taken = 0;
    for (; places.has_room_for(client); ++taken) places.take(client);
    return taken;
}

TEST(PlacesTest, ADuePartOfTheLastQuarterIsForEachClient) {
    Places places(32);
    EXPECT_EQ(take_all(places, client(1)), 24);
    EXPECT_EQ(take_all(places, client(2)), 8);
    EXPECT_EQ(take_all(places, client(3)), 0);
    places.give_back(client(1));
    EXPECT_EQ(take_all(places, client(1)), 0);
    EXPECT_EQ(take_all(places, client(2)), 0) << "it has a quarter";
    EXPECT_EQ(take_all(places, client(3)), 1);
    EXPECT_EQ(places.taken(), 32U);
    for (int i = 0; i < 8; ++i) places.give_back(client(1));
    EXPECT_EQ(take_all(places, client(1)), 0) << "it has more than a quarter";
    places.give_back(client(1));
    EXPECT_EQ(take_all(places, client(1)), 1) << "the last quarter is free";
}

TEST(PlacesTest, TellHowManyMoreAClientMayHave) {
    Places places(32);
    EXPECT_EQ(places.room_for(client(1)), 24U);
    EXPECT_EQ(places.room_for({}), 32U);
    for (int i = 0; i < 20; ++i) places.take(client(1));
    EXPECT_EQ(places.room_for(client(1)), 4U);
    EXPECT_EQ(places.room_for(client(2)), 8U);
    for (int i = 0; i < 6; ++i) places.take(client(2));
    EXPECT_EQ(places.room_for(client(1)), 0U);
    EXPECT_EQ(places.room_for(client(2)), 2U);
    EXPECT_EQ(places.room_for(client(3)), 6U);
    EXPECT_EQ(places.room_for({}), 6U);
}

TEST(PlacesTest, AnotherNumberTakesNoPlaceBack) {
    Places places(8);
    EXPECT_EQ(take_all(places, {}), 8);
    places.set_places_max(4);
    EXPECT_EQ(places.room_for({}), 0U);
    for (int i = 0; i < 4; ++i) places.give_back({});
    EXPECT_EQ(places.room_for({}), 0U);
    places.give_back({});
    EXPECT_EQ(places.room_for({}), 1U);
    places.set_places_max(8);
    EXPECT_EQ(take_all(places, {}), 5);
}

TEST(PlacesTest, FewPlacesAndPeersWithoutAddressHaveNoShares) {
    for (const std::size_t most : {0U, 1U, 3U}) {
        Places places(most);
        EXPECT_EQ(take_all(places, client(1)), static_cast<int>(most));
    }
    Places places(32);
    EXPECT_EQ(take_all(places, {}), 32);
}

TEST(PlacesDeathTest, GivingBackWhatNobodyTookAborts) {
    Places places(4);
    EXPECT_DEATH(places.give_back({}), "given back");
    places.take(client(1));
    EXPECT_DEATH(places.give_back(client(2)), "did not hold");
}

TEST(PlacesTest, WhoWaitsMostOftenGivesWay) {
    const std::vector<ClientKey> queue = {client(1), client(2), client(2), {},       {},
                                          client(1), client(2), {},        client(3)};
    EXPECT_EQ(who_gives_way(queue, client(4)), 6U);
    EXPECT_EQ(who_gives_way(queue, client(3)), 6U);
    EXPECT_EQ(who_gives_way(queue, {}), 6U);
    EXPECT_EQ(who_gives_way(queue, client(2)), std::nullopt);
    EXPECT_EQ(who_gives_way(queue, client(1)), std::nullopt) << "it would wait as often";
    EXPECT_EQ(who_gives_way({}, client(1)), std::nullopt);
    const std::vector<ClientKey> one_each = {client(1), client(2), {}};
    EXPECT_EQ(who_gives_way(one_each, client(3)), std::nullopt);
}

}  // namespace
}  // namespace tiderace::http
