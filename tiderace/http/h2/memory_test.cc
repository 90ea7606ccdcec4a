// Memory that runs out, at any single allocation: at most the connection ends, and no other does.
#include <new>
#include <string>
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
    // A client that asks, uploads, waits and is gone in four steps, with the nth allocation of one
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
            core::BlockPool& blocks = world.loop().blocks();
            const auto turn = [&] {
                // The pool has no free block, so that a queue needs memory for its own.
                std::vector<void*> all(core::BlockPool::free_blocks_max);
                for (void*& block : all) block = blocks.take();
                testing::ScarceMemory scarce(step++ == scarce_step ? nth : 0);
                try {
                    world.settle();
                } catch (const std::bad_alloc&) {
                    // The fake network's own: the loop lets no exception of the server out.
                }
                failed = failed || scarce.failed();
                for (void* const block : all) blocks.give_back(block);
            };
            client.get("/hello");
            for (int i = 0; i < 3; ++i) client.get("/kept");
            const auto upload = client.request("POST", "/upload", {}, false);
            client.data(upload, "xx", false);
            const auto dropped = client.request("POST", "/hello", {}, false);
            turn();
            // More than is read and dropped of it: the stream is reset behind its answer, by a
            // frame that is alone in the queue.
            for (int i = 0; i < 4; ++i) client.data(dropped, std::string(16'000, 'x'), false);
            client.data(dropped, std::string(2'000, 'x'), false);
            turn();
            client.get("/stream");
            client.reset(upload);
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
    for (const int step : {0, 1, 2, 3}) {
        const auto calls =
            testing::fail_each([&](std::uint64_t nth) { return serve_without(step, nth); });
        // The end of a connection does not allocate.
        EXPECT_EQ(calls > 0, step < 3) << step;
    }
}

}  // namespace
}  // namespace tiderace::http
