#include "tiderace/http/request_buffer.h"

#include <gtest/gtest.h>

#include <string>

#include "tiderace/http/exchange.h"
#include "tiderace/testing/fake_world.h"
#include "tiderace/testing/h2_stage.h"

namespace tiderace::http {
namespace {

TEST(RequestBuffers, HaveOneSpare) {
    RequestBuffers buffers(100);
    auto first = buffers.take();
    auto second = buffers.take();
    const RequestBuffer* const kept = first.get();
    EXPECT_EQ(first->path(1).size(), 100U);
    buffers.give_back(std::move(first));
    buffers.give_back(std::move(second));
    EXPECT_EQ(buffers.take().get(), kept);
}

TEST(RequestBuffer, HasRoomForALongerPathThanItWasMadeFor) {
    RequestBuffer buffer(64);
    EXPECT_EQ(buffer.path(3).size(), 64u);
    const char* const same = buffer.path(64).data();
    EXPECT_EQ(buffer.path(1).data(), same);
    EXPECT_EQ(buffer.path(65).size(), 65u);
}

TEST(PinnedRequest, OwnsAllThatARequestShows) {
    PinnedRequest pinned;
    wire::RequestHead head{std::span<wire::Field>()};
    Request request;
    request.head = &head;
    {
        RequestBuffer buffer(64);
        const std::string method = "GET", target = "/a%20b?c=d", path = "/a b";
        const std::string host = "example", name = "Host", own = "X-Own", value = "1";
        head.lend(buffer.fields());
        head.set_method(method);
        head.set_target(target, wire::TargetForm::origin, {});
        ASSERT_TRUE(head.add_field(name, host));
        ASSERT_TRUE(head.add_field(own, value));
        request.path = path;
        request.raw_path = ByteView(target).substr(0, 6);
        request.query = ByteView(target).substr(7);
        request.has_query = true;
        request.authority = head.fields()[0].value;
        pinned.pin(head, request);
    }
    EXPECT_EQ(request.method(), wire::Method::get);
    EXPECT_EQ(head.method_text(), "GET");
    EXPECT_EQ(head.target(), "/a%20b?c=d");
    EXPECT_EQ(request.path, "/a b");
    EXPECT_EQ(request.raw_path, "/a%20b");
    EXPECT_EQ(request.query, "c=d");
    EXPECT_EQ(request.query.data(), head.target().data() + 7);  // one copy is enough
    EXPECT_EQ(request.authority, "example");
    EXPECT_EQ(request.header(wire::FieldName::host), "example");
    EXPECT_EQ(head.find("x-own")->value, "1");
    EXPECT_EQ(pinned.bytes(), 2 * sizeof(wire::Field) + 3 + 10 + 4 + 4 + 7 + 5 + 1);
    EXPECT_FALSE(head.add_field("X-More", "no room"));
}

// The target of an absolute form, which names its own authority; a protocol; no path of its own.
TEST(PinnedRequest, OwnsTheAuthorityOfTheTargetAndTheProtocol) {
    PinnedRequest pinned;
    wire::RequestHead head{std::span<wire::Field>()};
    Request request;
    request.head = &head;
    {
        RequestBuffer buffer(64);
        const std::string method = "CONNECT", target = "http://b/p?q", host = "a", name = "Host";
        const std::string protocol = "websocket";
        head.lend(buffer.fields());
        head.set_method(method);
        head.set_target(target, wire::TargetForm::absolute, ByteView(target).substr(7, 1));
        ASSERT_TRUE(head.add_field(name, host));
        request.path = request.raw_path = ByteView(target).substr(8, 2);
        request.query = ByteView(target).substr(11);
        request.authority = head.target_authority();
        request.protocol = protocol;
        pinned.pin(head, request);
    }
    EXPECT_EQ(request.authority, "b");
    EXPECT_EQ(head.target_authority(), "b");
    EXPECT_EQ(request.protocol, "websocket");
    EXPECT_EQ(request.path, "/p");
    EXPECT_EQ(request.raw_path, "/p");
    EXPECT_EQ(request.query, "q") << "to the target's last byte";
    EXPECT_EQ(request.path.data(), head.target().data() + 8);
    EXPECT_EQ(request.query.data(), head.target().data() + 11);
    EXPECT_EQ(pinned.bytes(), sizeof(wire::Field) + 7 + 12 + 1 + 9 + 4 + 1);
    pinned.clear();
    EXPECT_EQ(pinned.bytes(), 0U);
}

// The root of "http://a" is not in it; no more is a query that was replaced.
TEST(PinnedRequest, OwnsARawPathAndAQueryThatAreNotInTheTarget) {
    PinnedRequest pinned;
    wire::RequestHead head{std::span<wire::Field>()};
    Request request;
    request.head = &head;
    {
        const std::string method = "GET", target = "http://a", root = "/", query = "b=c";
        head.set_method(method);
        head.set_target(target, wire::TargetForm::absolute, ByteView(target).substr(7));
        request.path = request.raw_path = root;
        request.query = query;
        pinned.pin(head, request);
    }
    EXPECT_EQ(request.authority, "a");
    EXPECT_EQ(request.path, "/");
    EXPECT_EQ(request.raw_path, "/");
    EXPECT_EQ(request.query, "b=c");
    EXPECT_EQ(pinned.bytes(), 3U + 8 + 1 + 1 + 1 + 3);
}

// --- in a handler ----------------------------------------------------------------------------

class PinTest : public ::testing::TestWithParam<bool> {
  protected:
    void ask(const std::string& path) {
        peer_ = stage_.connect();
        if (GetParam()) {
            client_ = std::make_unique<testing::H2Client>(*peer_);
            client_->get(path, {{"x-own", "1"}});
        } else {
            peer_->say("GET " + path + " HTTP/1.1\r\nHost: a\r\nX-Own: 1\r\n\r\n");
        }
    }

    testing::FakeWorld world_;
    testing::H2Stage stage_{world_};
    std::unique_ptr<testing::Peer> peer_;
    std::unique_ptr<testing::H2Client> client_;
};

INSTANTIATE_TEST_SUITE_P(Http, PinTest, ::testing::Values(false, true),
                         [](const auto& http2) { return http2.param ? "h2" : "h1"; });

TEST_P(PinTest, ViewsOfAPinnedRequestLiveAsLongAsTheExchange) {
    core::Ref<Exchange> kept;
    ByteView path, raw, query, own, method;
    stage_.on("/a b", [&](Exchange& exchange) {
        exchange.pin();
        const Request& request = exchange.request();
        path = request.path;
        raw = request.raw_path;
        query = request.query;
        own = request.head->find("x-own")->value;
        method = request.head->method_text();
        kept = exchange.defer();
    });
    ask("/a%20b?q=1");
    ASSERT_TRUE(stage_.run_until([&] { return static_cast<bool>(kept); }));
    peer_->reset();
    ASSERT_TRUE(stage_.run_until([&] { return kept->abandoned(); }));
    const auto other = stage_.connect();
    other->say("GET /hello HTTP/1.1\r\nHost: bbbbbbbbbbbbbbbb\r\nX-Own: 2222222\r\n\r\n");
    ASSERT_TRUE(stage_.run_until([&] { return !other->heard().empty(); }));
    EXPECT_EQ(path, "/a b");
    EXPECT_EQ(raw, "/a%20b");
    EXPECT_EQ(query, "q=1");
    EXPECT_EQ(own, "1");
    EXPECT_EQ(method, "GET");
    EXPECT_EQ(kept->request().path.data(), path.data());
}

TEST_P(PinTest, AnyPathThatFitsTheLineReachesTheHandler) {
    const std::string long_path = "/" + std::string(7'900, 'a') + "%41";
    std::string seen;
    stage_.on("/" + std::string(7'900, 'a') + "A", [&](Exchange& exchange) {
        seen = exchange.request().path;
        exchange.respond_status(204);
    });
    ask(long_path);
    ASSERT_TRUE(stage_.run_until([&] { return !seen.empty(); }));
    ASSERT_TRUE(stage_.run_until([&] { return stage_.stage().logged().size() == 1; }));
    EXPECT_EQ(stage_.stage().logged()[0].status, 204);
    ask("/" + std::string(8'300, 'a'));
    ASSERT_TRUE(stage_.run_until([&] { return stage_.stage().logged().size() == 2; }));
    EXPECT_EQ(stage_.stage().logged()[1].status, 414);
}

#if defined(TIDERACE_SANITIZED)
TEST_P(PinTest, ReadingAViewFromBeforePinIsReported) {
    if constexpr (!poisons_old_views) return;
    char read = 0;
    stage_.on("/a b", [&](Exchange& exchange) {
        const ByteView path = exchange.request().path;
        const ByteView own = exchange.request().head->find("x-own")->value;
        exchange.pin();
        exchange.respond_status(204);
        EXPECT_DEATH(read = path[1], "use-after-poison|heap-use-after-free");
        EXPECT_DEATH(read = own[0], "use-after-poison|heap-use-after-free");
    });
    ask("/a%20b");
    ASSERT_TRUE(stage_.run_until([&] { return stage_.stage().logged().size() == 1; }));
}

TEST_P(PinTest, ReadingAViewAfterTheHandlersReturnIsReported) {
    if constexpr (!poisons_old_views) return;
    char read = 0;
    ByteView own;
    stage_.on("/now", [&](Exchange& exchange) {
        own = exchange.request().head->find("x-own")->value;
        exchange.respond_status(204);
    });
    ask("/now");
    ASSERT_TRUE(stage_.run_until([&] { return stage_.stage().logged().size() == 1; }));
    stage_.run_until([] { return false; });
    const auto other = stage_.connect();
    EXPECT_DEATH(read = own[0], "use-after-poison|heap-use-after-free");
    EXPECT_EQ(read, 0);
}
#endif

}  // namespace
}  // namespace tiderace::http
