#include "tiderace/tls/traffic_secrets.h"

#include <gtest/gtest.h>

#include <string>

namespace tiderace::tls {
namespace {

const std::string random(64, 'a');

TEST(TrafficSecrets, TakesTheTwoOfTheApplication) {
    TrafficSecrets secrets;
    EXPECT_FALSE(secrets.take_line("CLIENT_HANDSHAKE_TRAFFIC_SECRET " + random + " 0102"));
    EXPECT_FALSE(secrets.take_line("EXPORTER_SECRET " + random + " 0102"));
    EXPECT_FALSE(secrets.complete());
    EXPECT_TRUE(
        secrets.take_line("SERVER_TRAFFIC_SECRET_0 " + random + " 00fF" + std::string(60, '0')));
    EXPECT_FALSE(secrets.complete());
    EXPECT_TRUE(
        secrets.take_line("CLIENT_TRAFFIC_SECRET_0 " + random + " 7f" + std::string(62, '1')));
    EXPECT_TRUE(secrets.complete());
    EXPECT_EQ(secrets.bytes, 32U);
    EXPECT_EQ(secrets.server[1], 0xff);
    EXPECT_EQ(secrets.client[0], 0x7f);
}

TEST(TrafficSecrets, HaveRoomForThoseOfSha384AndBothHaveOneLength) {
    TrafficSecrets secrets;
    const std::string longest(2 * TrafficSecrets::bytes_max, 'e');
    EXPECT_TRUE(secrets.take_line("SERVER_TRAFFIC_SECRET_0 " + random + " " + longest));
    EXPECT_EQ(secrets.bytes, 48U);
    EXPECT_EQ(secrets.server[47], 0xee);
    EXPECT_FALSE(
        secrets.take_line("CLIENT_TRAFFIC_SECRET_0 " + random + " " + std::string(64, '0')));
    EXPECT_FALSE(secrets.complete());
    EXPECT_TRUE(secrets.take_line("CLIENT_TRAFFIC_SECRET_0 " + random + " " + longest));
    EXPECT_TRUE(secrets.complete());
}

TEST(TrafficSecrets, TakesNothingThatIsNotHexadecimalOrTooLong) {
    TrafficSecrets secrets;
    for (const std::string& bad : {std::string("0g"), std::string("012"), std::string(98, '0'),
                                   std::string(), std::string("0 ")}) {
        EXPECT_FALSE(secrets.take_line("CLIENT_TRAFFIC_SECRET_0 " + random + " " + bad)) << bad;
    }
    EXPECT_FALSE(secrets.has_client);
}

}  // namespace
}  // namespace tiderace::tls
