#include "tiderace/http/websocket/service.h"

#include <gtest/gtest.h>

#include <set>

#include "tiderace/testing/fake_world.h"

namespace tiderace::http {
namespace {

TEST(WebSocketService, GivesMasksThatDoNotRepeat) {
    testing::FakeWorld world;
    WebSocketService service(world.loop(), {});
    std::set<std::array<unsigned char, 4>> seen;
    for (int i = 0; i < 300; ++i) seen.insert(service.random_mask().key);
    EXPECT_GE(seen.size(), 299u);  // two equal ones of 300 are one run in 100,000
}

TEST(WebSocketService, KeepsOneStreamForEachWindow) {
    testing::FakeWorld world;
    WebSocketService service(world.loop(), {});
    EXPECT_EQ(&service.deflater(15), &service.deflater(15));
    EXPECT_NE(&service.deflater(9), &service.deflater(15));
    EXPECT_EQ(&service.inflater(), &service.inflater());
    std::set<const void*> streams{&service.inflater()};
    for (int bits = 9; bits <= 15; ++bits) streams.insert(&service.deflater(bits));
    EXPECT_EQ(streams.size(), 8U);
}

TEST(WebSocketService, GivesBackScratchThatAGiantMessageLeft) {
    testing::FakeWorld world;
    WebSocketService service(world.loop(), {});
    service.inflate_scratch().assign(4 * WebSocketService::scratch_bytes_kept, 'x');
    EXPECT_LT(service.inflate_scratch().capacity(), WebSocketService::scratch_bytes_kept);
    EXPECT_TRUE(service.deflate_scratch().empty());
}

TEST(WebSocketService, CountsTheWindowsThatAreOut) {
    testing::FakeWorld world;
    WebSocketOptions options;
    options.context_sockets_max = 2;
    WebSocketService service(world.loop(), options);
    auto first = service.take_context();
    auto second = service.take_context();
    EXPECT_NE(second, nullptr);
    EXPECT_EQ(service.take_context(), nullptr);
    first.reset();
    EXPECT_NE(service.take_context(), nullptr);
}

}  // namespace
}  // namespace tiderace::http
