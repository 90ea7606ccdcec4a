// The example at the top of tiderace/websocket.h, compiled unchanged, and run.
#include "tiderace/websocket.h"

#include <gtest/gtest.h>

#include "tiderace/testing.h"
#include "websocket_example.h"

namespace tiderace {
namespace {

TEST(WebSocketHeader, HasAnExampleThatRuns) {
    const auto app = make_app();
    testing::Client client(app);
    auto echo = client.websocket("/echo");
    echo.send("hello");
    EXPECT_EQ(echo.receive()->text(), "hello");

    auto ann = client.websocket("/rooms/harbour");
    auto bob = client.websocket("/rooms/harbour");
    auto eve = client.websocket("/rooms/pier");
    ann.send("high tide at nine");
    EXPECT_EQ(ann.receive()->text(), "high tide at nine");
    EXPECT_EQ(bob.receive()->text(), "high tide at nine");
    EXPECT_FALSE(eve.receive());
    EXPECT_EQ(client.post("/rooms/pier", "low tide").status, 204);
    EXPECT_EQ(eve.receive()->text(), "low tide");
}

}  // namespace
}  // namespace tiderace
