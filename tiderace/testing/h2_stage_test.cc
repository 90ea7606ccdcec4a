#include "tiderace/testing/h2_stage.h"

#include <gtest/gtest.h>

#include "tiderace/testing/fake_world.h"

namespace tiderace::testing {
namespace {

TEST(H2Stage, ServesBothVersions) {
    const auto world = make_world("fake");
    H2Stage stage(*world);
    const auto second = stage.connect();
    H2Client client(*second);
    const auto stream = client.get("/hello");
    EXPECT_TRUE(stage.run_until([&] { return client.answer(stream).ended; }));
    EXPECT_EQ(client.answer(stream).body, "hello\n");
    const auto first = stage.connect();
    first->say("GET /hello HTTP/1.1\r\nHost: a\r\n\r\n");
    EXPECT_TRUE(stage.run_until([&] { return first->heard().ends_with("hello\n"); }));
}

}  // namespace
}  // namespace tiderace::testing
