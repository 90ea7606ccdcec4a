// Memory that runs out, at any single allocation: at most the connection ends, and no other does.
#include <new>
#include <vector>

#include "tiderace/testing/fail_nth.h"
#include "tiderace/testing/h2_fixture.h"
#include "tiderace/testing/scarce_memory.h"

namespace tiderace::http {
namespace {

using testing::FakeWorld;
using testing::H2Client;
using testing::H2Stage;

class H2Memory : public ::testing::Test {
  protected:
    // A client that asks, uploads, waits and is gone in three steps, with the nth allocation of one
    // of them failing. True: it was reached.
    static bool serve_without(int scarce_step, std::uint64_t nth) {
        FakeWorld world;
        H2Stage stage(world);
        std::vector<core::Ref<Exchange>> kept;
        kept.reserve(16);
        stage.on("/kept", [&](Exchange& exchange) { kept.push_back(exchange.defer()); });
        int step = 0;
        bool failed = false;
        {
            const auto peer = stage.connect();
            H2Client client(*peer);
            const auto turn = [&] {
                testing::ScarceMemory scarce(step++ == scarce_step ? nth : 0);
                try {
                    world.settle();
                } catch (const std::bad_alloc&) {
                    // The fake network's own: the loop lets no exception of the server out.
                }
                failed = failed || scarce.failed();
            };
            client.get("/hello");
            for (int i = 0; i < 3; ++i) client.get("/kept");
            const auto upload = client.request("POST", "/upload", {}, false);
            client.data(upload, "xx", false);
            turn();
            client.get("/stream");
            client.reset(upload);
            // More than is read and dropped: the stream is reset behind its answer.
            client.request("POST", "/hello", {{"content-length", "1000000"}}, false);
            for (int i = 0; i < 6; ++i) client.get("/kept");
            turn();
            peer->reset();
            turn();
            world.settle();
        }
        EXPECT_EQ(stage.server().size(), 0U) << scarce_step << ' ' << nth;
        // The connection is gone, and an answer that comes after it reaches nothing.
        for (core::Ref<Exchange>& exchange : kept) {
            EXPECT_TRUE(exchange->abandoned()) << scarce_step << ' ' << nth;
            exchange->respond_status(204);
        }
        kept.clear();
        world.settle();
        const auto other = stage.connect();
        H2Client client(*other);
        const auto stream = client.get("/hello");
        EXPECT_TRUE(stage.run_until([&] { return client.answer(stream).ended; }))
            << scarce_step << ' ' << nth;
        return failed;
    }
};

TEST_F(H2Memory, EndsNoMoreThanTheConnection) {
    if (!testing::ScarceMemory::works) GTEST_SKIP() << testing::ScarceMemory::why_not;
    for (const int step : {0, 1, 2}) {
        const auto calls =
            testing::fail_each([&](std::uint64_t nth) { return serve_without(step, nth); });
        // The end of a connection needs none.
        EXPECT_EQ(calls > 0, step < 2) << step;
    }
}

}  // namespace
}  // namespace tiderace::http
