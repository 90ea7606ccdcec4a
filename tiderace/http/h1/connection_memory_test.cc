// The memory of a connection: nothing is allocated for an answer given at once, and an idle
// connection holds neither a block nor an exchange.
#include <gtest/gtest.h>

#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <new>
#include <set>
#include <vector>

#include "tiderace/http/h1/connection.h"
#include "tiderace/http/h2/service.h"
#include "tiderace/http/site_loop.h"
#include "tiderace/http/wire/h2/frame.h"
#include "tiderace/testing/fake_world.h"
#include "tiderace/testing/h1_stage.h"
#include "tiderace/testing/h2_client.h"

namespace {

// All of this program's, counted; one thread in the tests that look.
std::size_t allocations = 0;
std::size_t alive = 0;
std::size_t alive_bytes = 0;

// Sanitizers bring their own operator new: there nothing is counted, but the rest is checked.
#if !defined(TIDERACE_SANITIZED)
constexpr std::size_t size_room = alignof(std::max_align_t);  // before each, with its size

void* counted(std::size_t bytes) {
    char* const memory = static_cast<char*>(std::malloc(size_room + bytes));
    if (memory == nullptr) std::abort();
    std::memcpy(memory, &bytes, sizeof bytes);
    ++allocations;
    ++alive;
    alive_bytes += bytes;
    return memory + size_room;
}
void uncounted(void* given) {
    if (given == nullptr) return;
    char* const memory = static_cast<char*>(given) - size_room;
    std::size_t bytes = 0;
    std::memcpy(&bytes, memory, sizeof bytes);
    --alive;
    alive_bytes -= bytes;
    std::free(memory);
}
#endif

}  // namespace

#if !defined(TIDERACE_SANITIZED)
void* operator new(std::size_t bytes) {
    return counted(bytes);
}
void* operator new[](std::size_t bytes) {
    return counted(bytes);
}
void operator delete(void* memory) noexcept {
    uncounted(memory);
}
void operator delete[](void* memory) noexcept {
    uncounted(memory);
}
void operator delete(void* memory, std::size_t) noexcept {
    uncounted(memory);
}
void operator delete[](void* memory, std::size_t) noexcept {
    uncounted(memory);
}
#endif

namespace tiderace::http {
namespace {

// Takes everything at once and remembers only how much it was.
class Sink final : public net::Transport {
  public:
    explicit Sink(std::size_t& sent) : sent_(&sent) {}

    void open(Observer& observer) override { observer_ = &observer; }
    void set_receiving(bool) override {}
    core::Sent send(core::SendQueue& queue) override {
        const std::uint64_t bytes = queue.bytes();
        *sent_ += bytes;
        queue.consume(bytes);
        return {.bytes = bytes};
    }
    void finish() override {}
    void close(core::SendQueue&&) override {}
    void set_reset_on_close() override {}
    void receive(ByteView bytes) { observer_->on_received(bytes); }

  private:
    std::size_t* sent_;
    Observer* observer_ = nullptr;
};

class H1Memory : public ::testing::Test {
  protected:
    H1Memory()
        : site_(hello_),
          http2_(world_.loop(), site_, {}),
          service_(world_.loop(), site_, {}),
          server_(world_.loop(), service_, {}) {
        service_.set_http2(http2_);
    }

    Sink& connect() {
        auto sink = std::make_unique<Sink>(sent_);
        Sink& transport = *sink;
        server_.adopt(std::move(sink), core::Address::loopback(1));
        return transport;
    }

    class Hello final : public Handler {
        void handle(Exchange& exchange) override {
            if (exchange.request().path == "/wait") return (void)exchange.handle();
            Response response;
            response.add(wire::FieldName::content_type, "text/plain");
            response.set_body("hello\n");
            exchange.respond(response);
        }
    };

    const std::string request_ =
        "GET /a%20path?query HTTP/1.1\r\nHost: tide.example\r\nUser-Agent: test\r\n\r\n";
    testing::FakeWorld world_;
    Hello hello_;
    SiteLoop site_;
    H2Service http2_;
    H1Service service_;
    std::size_t sent_ = 0;
    net::TcpServer server_;
};

TEST_F(H1Memory, AThousandAnswersGivenAtOnceAllocateNothing) {
    Sink& peer = connect();
    peer.receive(request_);  // the spare exchange, the date, the first block
    const std::size_t one = sent_;
    const std::size_t before = allocations;
    for (int i = 0; i < 1'000; ++i) peer.receive(request_);
    EXPECT_EQ(allocations - before, 0U);
    EXPECT_EQ(sent_, 1'001 * one);
}

TEST_F(H1Memory, PipelinedOnesNeither) {
    Sink& peer = connect();
    std::string sixteen;
    for (int i = 0; i < 16; ++i) sixteen += request_;
    peer.receive(sixteen);
    const std::size_t before = allocations;
    for (int i = 0; i < 100; ++i) peer.receive(sixteen);
    EXPECT_EQ(allocations - before, 0U);
    EXPECT_EQ(service_.counters().requests, 1'616U);
}

TEST_F(H1Memory, AnIdleConnectionHoldsNoBlockAndNoExchange) {
    std::vector<Sink*> peers;
    peers.reserve(100);
    for (int i = 0; i < 100; ++i) peers.push_back(&connect());
    peers[0]->receive(request_);
    const std::size_t before = alive;
    for (Sink* peer : peers) peer->receive(request_);
    for (Sink* peer : peers) {  // also in pieces
        peer->receive(request_.substr(0, 30));
        peer->receive(request_.substr(30));
    }
    EXPECT_EQ(alive, before);
    EXPECT_EQ(world_.loop().blocks().taken(), 0U);
    EXPECT_EQ(service_.counters().requests, 201U);
}

// Exchanges of requests that wait for a database together serve the next ones.
TEST_F(H1Memory, ExchangesAreKeptUpToABound) {
    constexpr std::size_t most = H1Service::spare_exchanges_max;
    std::vector<core::Ref<H1Exchange>> taken;
    std::set<const H1Exchange*> first;
    for (std::size_t i = 0; i < most + 5; ++i) {
        taken.push_back(service_.take_exchange());
        if (i < most) first.insert(taken.back().get());
    }
    for (auto& exchange : taken) service_.give_back(std::move(exchange));
    const std::size_t before = allocations;
    for (std::size_t i = 0; i < most; ++i) {
        taken[i] = service_.take_exchange();
        EXPECT_TRUE(first.contains(taken[i].get())) << i;
    }
    EXPECT_EQ(allocations, before);
#if !defined(TIDERACE_SANITIZED)
    taken[most] = service_.take_exchange();
    EXPECT_GT(allocations, before);
#endif
}

// A browser's request, deferred with an id, an observer and a deadline.
TEST_F(H1Memory, ASuspendedRequestCostsAtMost3KiB) {
    const std::string waiting =
        "GET /wait?with=a&query=too HTTP/1.1\r\nHost: tide.example\r\nUser-Agent: " +
        std::string(110, 'm') +
        "\r\nAccept: text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8\r\n"
        "Accept-Language: en-GB,en;q=0.5\r\nAccept-Encoding: gzip, deflate, br, zstd\r\n"
        "Referer: https://tide.example/somewhere/else\r\nConnection: keep-alive\r\n"
        "Cookie: session=" +
        std::string(64, 's') +
        "; theme=dark\r\n"
        "Sec-Fetch-Dest: document\r\nSec-Fetch-Mode: navigate\r\nSec-Fetch-Site: none\r\n\r\n";
    std::vector<Sink*> peers;
    peers.reserve(100);
    for (int i = 0; i < 100; ++i) peers.push_back(&connect());
    for (Sink* peer : peers) peer->receive(request_);  // and they are idle again
    peers[0]->receive(waiting);
    const std::size_t before = alive_bytes;
    for (std::size_t i = 1; i < peers.size(); ++i) peers[i]->receive(waiting);
    EXPECT_LE((alive_bytes - before) / (peers.size() - 1), 3_KiB);
#if !defined(TIDERACE_SANITIZED)
    EXPECT_GT(alive_bytes, before);
#endif
}

// The same over HTTP/2, as one stream of each connection and as many of one.
TEST_F(H1Memory, ASuspendedStreamCostsAtMost3KiB) {
    const testing::H2Client::Fields browser{
        {"user-agent", std::string(110, 'm')},
        {"accept", "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8"},
        {"accept-language", "en-GB,en;q=0.5"},
        {"accept-encoding", "gzip, deflate, br, zstd"},
        {"referer", "https://tide.example/somewhere/else"},
        {"cookie", "session=" + std::string(64, 's') + "; theme=dark"},
        {"sec-fetch-dest", "document"},
        {"sec-fetch-mode", "navigate"},
        {"sec-fetch-site", "none"},
    };
    for (const std::size_t streams : {std::size_t{1}, std::size_t{100}}) {
        testing::RecordingPeer far_end;
        testing::H2Client client(far_end);
        const std::string opening = std::exchange(far_end.said, {});
        for (std::size_t i = 0; i < streams; ++i) client.get("/wait?with=a&query=too", browser);
        const std::string waiting = std::exchange(far_end.said, {});
        std::vector<Sink*> peers;
        peers.reserve(20);
        for (int i = 0; i < 20; ++i) peers.push_back(&connect());
        for (Sink* peer : peers) peer->receive(opening);
        peers[0]->receive(waiting);  // what all streams of the loop share
        world_.settle();
        const std::size_t before = alive_bytes;
        const std::uint64_t requests = http2_.counters().requests;
        for (std::size_t i = 1; i < peers.size(); ++i) peers[i]->receive(waiting);
        world_.settle();
        const std::size_t suspended = streams * (peers.size() - 1);
        EXPECT_EQ(http2_.counters().requests - requests, suspended);
        EXPECT_LE((alive_bytes - before) / suspended, 3_KiB) << streams;
#if !defined(TIDERACE_SANITIZED)
        EXPECT_GT(alive_bytes, before);
        RecordProperty("bytes_each_of_" + std::to_string(streams),
                       static_cast<int>((alive_bytes - before) / suspended));
#endif
    }
}

TEST_F(H1Memory, AConnectionThatWentLeavesNothing) {
    connect().receive(request_);
    server_.abort_all();
    world_.settle();
    const std::size_t before = alive;
    for (int i = 0; i < 100; ++i) {
        Sink& peer = connect();
        peer.receive(request_);
        peer.receive("GET /unfinished HTTP");
        server_.abort_all();
        world_.settle();
    }
    EXPECT_EQ(alive, before);
    EXPECT_EQ(server_.size(), 0U);
}

TEST_F(H1Memory, AConnectionThatBecameHttp2LeavesNothing) {
    H2Service http2(world_.loop(), site_, {});
    service_.set_http2(http2);
    std::size_t before = 0;
    for (int i = 0; i < 100; ++i) {
        connect().receive(wire::h2_preface);
        server_.abort_all();
        world_.settle();
        if (i == 0) before = alive;
    }
    EXPECT_EQ(alive, before);
    EXPECT_EQ(server_.size(), 0U);
}

}  // namespace
}  // namespace tiderace::http
