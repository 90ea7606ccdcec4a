#include "tiderace/testing/h2_client.h"

#include <gtest/gtest.h>

namespace tiderace::testing {
namespace {

TEST(H2Client, SaysThePrefaceSettingsAndARequest) {
    RecordingPeer peer;
    H2Client client(peer);
    EXPECT_EQ(client.get("/a"), 1U);
    EXPECT_EQ(client.get("/b"), 3U);
    EXPECT_TRUE(peer.said.starts_with("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"));
    const std::string settings("\0\0\0\4\0\0\0\0\0", 9);
    EXPECT_EQ(peer.said.substr(24, 9), settings);
    EXPECT_EQ(peer.said[33 + 3], 1);  // HEADERS
}

TEST(H2Client, WritesFieldBlocksOfLiterals) {
    EXPECT_EQ(H2Client::block({{"a", "bc"}}), std::string("\0\1a\2bc", 6));
    const std::string large = H2Client::block({{"a", std::string(300, 'x')}});
    EXPECT_EQ(large.substr(0, 6), std::string("\0\1a\x7f\xad\1", 6));  // 127 + 45 + 128
}

TEST(H2Client, HearsFramesThatComeInPieces) {
    RecordingPeer peer;
    H2Client client(peer);
    const std::string answer("\0\0\1\1\4\0\0\0\1\x88\0\0\2\0\1\0\0\0\1hi\0\0\4\7\0\0\0\0\0", 30);
    for (const char c : answer) {
        peer.to_hear += c;
        client.answer(1);
    }
    EXPECT_EQ(client.answer(1).status, 200);
    EXPECT_EQ(client.answer(1).body, "hi");
    EXPECT_TRUE(client.answer(1).ended);
    EXPECT_FALSE(client.goaway());  // its payload did not come
    EXPECT_EQ(client.data_order(), std::vector<std::uint32_t>{1});
}

}  // namespace
}  // namespace tiderace::testing
