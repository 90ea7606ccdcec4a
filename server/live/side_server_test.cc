#include "server/live/side_server.h"

#include <gtest/gtest.h>

#include "tiderace/testing/fake_world.h"
#include "tiderace/testing/recorded_exchange.h"

namespace tiderace::server {
namespace {

// How it listens: tests/test_admin.py and tests/test_site_metrics.py, with the real program.
TEST(SideServer, AnswersWhatNoCacheKeeps) {
    testing::FakeWorld world;
    const auto asked = core::make_ref<testing::RecordedExchange>(world.loop(), "GET", "/");
    answer(*asked, 200, "text/plain", "hello");
    EXPECT_EQ(asked->status(), 200);
    EXPECT_EQ(asked->header("Cache-Control"), "no-store");
    const auto posted = core::make_ref<testing::RecordedExchange>(world.loop(), "POST", "/");
    refuse_method(*posted, "GET");
    EXPECT_EQ(posted->status(), 405);
    EXPECT_EQ(posted->header("Allow"), "GET");
}

TEST(SideServer, DrainsWithoutConnectionsAtOnce) {
    class Nothing final : public http::Handler {
        void handle(http::Exchange& exchange) override { exchange.respond_status(204); }
    } nothing;
    testing::FakeWorld world;
    SideServer server(world.loop(), nothing);
    server.stop_listening();
    bool drained = false;
    server.drain(Instant::max(), [&] { drained = true; });
    EXPECT_TRUE(drained);
}

}  // namespace
}  // namespace tiderace::server
