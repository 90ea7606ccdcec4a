// The handler's end while its peer still works. tests/test_fastcgi.py has real peers and bad ones.
#include "tiderace/http/cgi/fastcgi.h"

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tiderace/core/clock.h"
#include "tiderace/core/event_loop.h"
#include "tiderace/http/cgi/fastcgi_peer.h"
#include "tiderace/http/wire/cgi/fcgi_records.h"
#include "tiderace/net/listener.h"
#include "tiderace/testing/fail_nth.h"
#include "tiderace/testing/manual_clock.h"
#include "tiderace/testing/recorded_exchange.h"
#include "tiderace/testing/scarce_memory.h"
#include "tiderace/testing/temporary_folder.h"

namespace tiderace::http::cgi {
namespace {

using wire::cgi::FcgiType;

class FastCgiTest : public ::testing::Test {
  protected:
    using Recorded = testing::RecordedExchange;

    FastCgiTest() { handler_ = std::move(*FastCgi::create(*loop_, options())); }
    ~FastCgiTest() override {
        for (const int fd : accepted_) ::close(fd);
    }

    FastCgiOptions options() {
        return {.pattern = "/app",
                .address = net::local_address(core::system_kernel(), listener_),
                .rules = {},
                .idle_max = 60s,
                .idle_least = 60s};
    }
    core::Ref<Recorded> begin(std::string_view method) {
        auto exchange = core::make_ref<Recorded>(*loop_, method, "/app/a");
        exchange->set_bodiless();
        handler_->handle(*exchange);
        return exchange;
    }
    // Until the peer has a request that it has not had yet.
    void receive_request() {
        EXPECT_TRUE(until([this] { return next_request() != 0; }));
    }
    void answer(FcgiType type, std::uint16_t id, ByteView content) {
        send(record(type, id, content));
    }
    // Answers each request that has come, on all connections.
    void answer_all() {
        while (const std::uint16_t id = next_request()) {
            ::send(peer_, whole_answer(id).data(), whole_answer(id).size(), MSG_NOSIGNAL);
        }
    }
    void lose_connections() {
        for (const int fd : accepted_) ::close(fd);
        accepted_.clear();
        ASSERT_TRUE(until([this] { return handler_->peer().connections() == 0; }));
    }
    // The id of one that has come, on any connection, which is the peer's from now on. 0: none.
    std::uint16_t next_request() {
        const int fresh = ::accept4(listener_.get(), nullptr, nullptr, SOCK_NONBLOCK);
        if (fresh >= 0) accepted_.push_back(fresh);
        for (const int fd : accepted_) {
            std::array<char, 4096> bytes{};
            const ssize_t got = ::recv(fd, bytes.data(), bytes.size(), 0);
            if (got < 4 || bytes[1] != static_cast<char>(FcgiType::begin_request)) continue;
            peer_ = fd;
            return static_cast<std::uint8_t>(bytes[3]);
        }
        return 0;
    }
    static std::string whole_answer(std::uint16_t id) {
        return record(FcgiType::standard_output, id, "Status: 200\r\n\r\nwell") + end_of(id);
    }
    static std::string record(FcgiType type, std::uint16_t id, ByteView content) {
        std::string bytes;
        append_record(bytes, type, id, content);
        return bytes;
    }
    static constexpr ByteView end_content{"\0\0\0\0\0\0\0\0", 8};
    static std::string end_of(std::uint16_t id) {
        return record(FcgiType::end_request, id, end_content);
    }
    // In one call, so that they are received together.
    void send(const std::string& bytes) {
        ASSERT_EQ(::send(peer_, bytes.data(), bytes.size(), MSG_NOSIGNAL),
                  static_cast<ssize_t>(bytes.size()));
    }
    template <typename Condition>
    bool until(Condition condition) {
        const core::SystemClock clock;
        for (const Instant end = clock.now() + 60s; !condition();) {
            if (clock.now() > end) return false;
            loop_->turn(5ms);
        }
        return true;
    }

    testing::ManualClock clock_;
    std::unique_ptr<core::EventLoop> loop_ =
        std::move(*core::EventLoop::create({.clock = &clock_}));
    core::Descriptor listener_ =
        std::move(*net::open_listener(core::system_kernel(), core::Address::loopback(0), {}));
    std::vector<int> accepted_;
    int peer_ = -1;
    std::unique_ptr<FastCgi> handler_;
};

TEST_F(FastCgiTest, EndsWithARequestThatThePeerHasNotAnswered) {
    const auto exchange = begin("GET");
    receive_request();
    handler_.reset();
    EXPECT_EQ(exchange->status(), 502);
}

TEST_F(FastCgiTest, EndsWithAScriptThatGoesOnAfterItsHead) {
    const auto exchange = begin("HEAD");
    receive_request();
    answer(FcgiType::standard_output, 1, "Status: 200\r\n\r\n");
    EXPECT_TRUE(until([&] { return exchange->responded(); }));
    handler_.reset();
    EXPECT_EQ(exchange->status(), 200);
}

// On a connection that was used before, a lost request would be sent again.
TEST_F(FastCgiTest, EndsWithARequestOnAKeptConnection) {
    const auto first = begin("GET");
    receive_request();
    answer(FcgiType::standard_output, 1, "Status: 200\r\n\r\n");
    answer(FcgiType::end_request, 1, ByteView("\0\0\0\0\0\0\0\0", 8));
    EXPECT_TRUE(until([&] { return first->responded() && first->finish(); }));
    const auto second = begin("GET");
    receive_request();
    handler_.reset();
    EXPECT_EQ(second->status(), 502);
}

TEST_F(FastCgiTest, ARequestIsNotLateWhileItsClientTakesNothing) {
    FastCgiOptions limited = options();
    limited.rules.timeout = 30s;
    limited.output_bytes_high = 1'000;
    limited.idle_max = limited.idle_least = 600s;
    handler_ = std::move(*FastCgi::create(*loop_, limited));
    const auto exchange = begin("GET");
    receive_request();
    const std::string much(2'000, 'x');
    answer(FcgiType::standard_output, 1, "Status: 200\r\n\r\n" + much);
    ASSERT_TRUE(until([&] { return exchange->responded(); }));
    answer(FcgiType::standard_output, 1, "y");  // behind it nothing is read
    loop_->turn(5ms);
    send(end_of(1));
    for (int i = 0; i < 4; ++i) {
        clock_.advance(20s);
        loop_->turn(5ms);
    }
    EXPECT_FALSE(exchange->broken());
    const int connection = peer_;
    const auto next = begin("GET");
    receive_request();
    EXPECT_NE(peer_, connection) << "its end was read";
    ASSERT_TRUE(until([&] { return exchange->finish() && exchange->complete(); }));
    EXPECT_EQ(exchange->body(), much + "y");
}

// A peer that does not read has the time that the rules give it, however long.
TEST_F(FastCgiTest, APeerThatReadsLateIsWaitedForAsLongAsTheRulesSay) {
    FastCgiOptions patient = options();
    patient.rules.timeout = 300s;
    patient.rules.body_bytes_max = 64_MiB;
    handler_ = std::move(*FastCgi::create(*loop_, patient));
    const auto exchange = core::make_ref<Recorded>(
        *loop_, "POST", "/app/a", Recorded::Fields{{"Content-Length", "50000000"}});
    handler_->handle(*exchange);
    // More than the kernel keeps for a peer that does not read.
    const std::string part(1_MiB, 'x');
    for (int i = 0; i < 12; ++i) {
        exchange->give(part);
        loop_->turn(0ms);
    }
    receive_request();
    for (int i = 0; i < 14; ++i) {
        clock_.advance(20s);
        loop_->turn(0ms);
    }
    EXPECT_FALSE(exchange->responded()) << exchange->status();
    clock_.advance(60s);
    ASSERT_TRUE(until([&] { return exchange->responded(); }));
    EXPECT_EQ(exchange->status(), 504);
}

// One that gets a connection, idle or made for it, waits for no other request.
TEST_F(FastCgiTest, MayLetNoneWaitForTheConnectionsOfOthers) {
    FastCgiOptions strict = options();
    strict.connections_max = 1;
    strict.waiting_max = 0;
    handler_ = std::move(*FastCgi::create(*loop_, strict));
    for (int i = 0; i < 2; ++i) {
        const auto exchange = begin("GET");
        ASSERT_FALSE(exchange->responded()) << exchange->status();
        receive_request();
        EXPECT_EQ(begin("GET")->status(), 503) << "the only connection is busy";
        const auto id = static_cast<std::uint16_t>(i + 1);
        answer(FcgiType::standard_output, id, "Status: 200\r\n\r\n");
        answer(FcgiType::end_request, id, ByteView("\0\0\0\0\0\0\0\0", 8));
        EXPECT_TRUE(until([&] { return exchange->responded() && exchange->finish(); }));
        EXPECT_EQ(exchange->status(), 200);
    }
}

// The front page of most sites. A new index.html has to be found at once, so each request looks for
// it.
TEST_F(FastCgiTest, AnIndexIsOpenedOnceASecond) {
    const testing::TemporaryFolder folder;
    folder.write("index.php", "<?php");
    testing::FailNth kernel(core::system_kernel());
    handler_.reset();
    loop_ = std::move(*core::EventLoop::create({.backend = {.kernel = &kernel}, .clock = &clock_}));
    FastCgiOptions site = options();
    site.pattern = "*.php";
    site.root = folder.path();
    site.index = {"index.html", "index.php"};
    handler_ = std::move(*FastCgi::create(*loop_, site));
    const std::uint64_t before = kernel.calls(testing::Call::open_beneath);
    for (int i = 0; i < 3; ++i) {
        const auto exchange = core::make_ref<Recorded>(*loop_, "GET", "/");
        ASSERT_TRUE(handler_->handle_as(*exchange, "/", site.index));
        exchange->end_body();
        ASSERT_TRUE(until([&] { return answer_all(), exchange->responded(); }));
        EXPECT_EQ(exchange->body(), "well");
    }
    EXPECT_EQ(kernel.calls(testing::Call::open_beneath) - before, 3U + 1U);
    folder.write("index.html", "a page");
    auto page = core::make_ref<Recorded>(*loop_, "GET", "/");
    EXPECT_FALSE(handler_->handle_as(*page, "/", site.index));
    EXPECT_FALSE(page->responded());
    handler_->handle(*page);
    EXPECT_EQ(page->status(), 404);
    page = {};
    handler_.reset();
    loop_.reset();
}

TEST_F(FastCgiTest, AnAnswerThatHasComeWholeHasALength) {
    const std::string head = "Content-Type: text/plain\r\n\r\n";
    const std::vector<std::pair<std::string, std::string>> answers{
        {record(FcgiType::standard_output, 1, head + "hello"), "hello"},
        {record(FcgiType::standard_output, 1, head), ""},
        {record(FcgiType::standard_output, 1, head.substr(0, 20)) +
             record(FcgiType::standard_output, 1, head.substr(20) + "a") +
             record(FcgiType::standard_output, 1, "bc") + record(FcgiType::standard_output, 1, ""),
         "abc"},
        {record(FcgiType::standard_output, 1, "Content-Length: 3\n" + head + "abc"), "abc"},
    };
    for (const auto& [output, body] : answers) {
        handler_ = std::move(*FastCgi::create(*loop_, options()));
        const auto exchange = begin("GET");
        receive_request();
        send(output + end_of(1));
        ASSERT_TRUE(until([&] { return exchange->responded() && exchange->finish(); }));
        EXPECT_EQ(exchange->status(), 200);
        EXPECT_EQ(exchange->content_length(), static_cast<std::int64_t>(body.size()));
        EXPECT_EQ(exchange->body(), body);
    }
}

TEST_F(FastCgiTest, ALocationThatIsAPathRedirectsTheClient) {
    const auto exchange = begin("GET");
    receive_request();
    send(record(FcgiType::standard_output, 1, "Location: /p#part\n\n") + end_of(1));
    ASSERT_TRUE(until([&] { return exchange->responded(); }));
    EXPECT_EQ(exchange->status(), 302);
    EXPECT_EQ(exchange->header("Location"), "/p#part");
}

TEST_F(FastCgiTest, AnAnswerWithoutItsEndIsSentAsItComes) {
    const auto exchange = begin("GET");
    receive_request();
    answer(FcgiType::standard_output, 1, "Content-Type: text/plain\r\n\r\nhel");
    ASSERT_TRUE(until([&] { return exchange->responded(); }));
    EXPECT_EQ(exchange->content_length(), -1);
    send(record(FcgiType::standard_output, 1, "lo") + end_of(1));
    ASSERT_TRUE(until([&] { return exchange->finish() && exchange->complete(); }));
    EXPECT_EQ(exchange->body(), "hello");
}

// Before the first byte of an answer is sent, a wrong one can still be 502.
TEST_F(FastCgiTest, AnAnswerThatIsWrongAsAWholeIs502) {
    FastCgiOptions limited = options();
    limited.rules.output_bytes_max = 8;
    for (const char* output :
         {"Content-Length: 4\n\nabc", "Content-Length: 2\n\nabc", "Status: 200\n\nabcdefghi"}) {
        handler_ = std::move(*FastCgi::create(*loop_, limited));
        const auto exchange = begin("GET");
        receive_request();
        send(record(FcgiType::standard_output, 1, output) + end_of(1));
        ASSERT_TRUE(until([&] { return exchange->responded() && exchange->finish(); }));
        EXPECT_EQ(exchange->status(), 502) << output;
        EXPECT_FALSE(exchange->broken()) << output;
    }
    handler_ = std::move(*FastCgi::create(*loop_, limited));
    const auto exchange = begin("GET");
    receive_request();
    send(record(FcgiType::standard_output, 1, "Status: 200\n\nabc") + "no record");
    ASSERT_TRUE(until([&] { return exchange->responded(); }));
    EXPECT_EQ(exchange->status(), 502);
}

TEST_F(FastCgiTest, AConnectionCarriesOneRequestAtATime) {
    const auto first = begin("GET");
    receive_request();
    const int connection = peer_;
    const auto second = begin("GET");
    receive_request();
    EXPECT_NE(peer_, connection);
    send(whole_answer(1));
    ASSERT_TRUE(until([&] { return second->responded(); }));
    EXPECT_FALSE(first->responded());
    peer_ = connection;
    send(whole_answer(1));
    ASSERT_TRUE(until([&] { return first->responded(); }));
    EXPECT_EQ(handler_->peer().connections(), 2U);
    const auto third = begin("GET");
    receive_request();
    EXPECT_EQ(peer_, connection) << "the oldest of those that are free";
    EXPECT_EQ(handler_->peer().connections(), 2U);
}

// The rest of it would be taken for the next request.
TEST_F(FastCgiTest, AConnectionWithoutTheEndOfAnInputIsNotUsedAgain) {
    const auto early = core::make_ref<Recorded>(*loop_, "POST", "/app/a",
                                                Recorded::Fields{{"Content-Length", "1000000"}});
    handler_->handle(*early);
    early->give(std::string(100'000, 'x'));
    receive_request();
    const int connection = peer_;
    send(whole_answer(1));
    ASSERT_TRUE(until([&] { return early->responded(); }));
    EXPECT_EQ(early->status(), 200);
    const auto next = begin("GET");
    receive_request();
    EXPECT_NE(peer_, connection);
}

// The answer is another client's. The request is sent again on a connection of its own.
TEST_F(FastCgiTest, ALateRecordOfTheRequestBeforeReachesNoOther) {
    for (const std::string& late :
         {record(FcgiType::standard_output, 1, "Status: 201\n\nlate"), end_of(1)}) {
        handler_ = std::move(*FastCgi::create(*loop_, options()));
        const auto before = begin("GET");
        receive_request();
        const int connection = peer_;
        send(whole_answer(1));
        ASSERT_TRUE(until([&] { return before->responded(); }));
        const auto next = begin("GET");
        receive_request();
        ASSERT_EQ(peer_, connection);
        send(late + whole_answer(2));
        ASSERT_TRUE(until([&] { return answer_all(), next->responded(); }));
        EXPECT_NE(peer_, connection);
        EXPECT_EQ(next->status(), 200);
        EXPECT_EQ(next->body(), "well");
    }
}

TEST_F(FastCgiTest, ARequestWhoseClientGoesEndsItsConnection) {
    const auto exchange = begin("GET");
    receive_request();
    ASSERT_EQ(handler_->peer().connections(), 1U);
    exchange->hang_up();
    EXPECT_TRUE(until([&] { return handler_->peer().connections() == 0; }));
    EXPECT_TRUE(handler_->is_idle());
}

// It may run out wherever a request is: the request fails, and nothing of it is left behind that
// keeps the next one from a connection.
TEST_F(FastCgiTest, WithoutMemoryOneRequestFails) {
    if (!testing::ScarceMemory::works) GTEST_SKIP() << testing::ScarceMemory::why_not;
    FastCgiOptions few = options();
    few.connections_max = 1;
    few.rules.waiting_max = 100s;
    for (const bool kept : {false, true}) {
        const std::uint64_t allocations = testing::fail_each([&](std::uint64_t nth) {
            handler_ = std::move(*FastCgi::create(*loop_, few));
            if (kept) {
                const auto before = begin("GET");
                EXPECT_TRUE(until([&] { return answer_all(), before->responded(); }));
            }
            const auto exchange = core::make_ref<Recorded>(*loop_, "GET", "/app/a");
            const auto waits = core::make_ref<Recorded>(*loop_, "GET", "/app/b");
            if (kept) exchange->set_bodiless();
            bool failed = false;
            {
                const testing::ScarceMemory scarce(nth);
                for (const auto& one : {exchange, waits}) {
                    one->run([&] { handler_->handle(*one); });
                    if (!one->has_body() || one->responded() || one->abandoned()) continue;
                    one->end_body();
                }
                for (int i = 0; i < 3; ++i) loop_->turn(0ms);
                failed = scarce.failed();
            }
            const auto is_over = [](const auto& one) {
                return one->responded() || one->abandoned() || one->broken();
            };
            // Far below the deadlines, which would end a request that was forgotten.
            for (int i = 0; i < 200 && !(is_over(exchange) && is_over(waits)); ++i) {
                answer_all();
                clock_.advance(10ms);
                loop_->turn(1ms);
            }
            EXPECT_TRUE(is_over(exchange)) << nth;
            EXPECT_TRUE(is_over(waits)) << nth;
            const auto next = begin("GET");
            for (int i = 0; i < 200 && !next->responded(); ++i) {
                answer_all();
                clock_.advance(10ms);
                loop_->turn(1ms);
            }
            EXPECT_EQ(next->status(), 200) << nth;
            EXPECT_TRUE(until([&] { return handler_->is_idle(); })) << nth;
            for (const int fd : accepted_) ::close(fd);
            accepted_.clear();
            return failed && !HasFailure();
        });
        EXPECT_GE(allocations, 3U);
    }
}

TEST_F(FastCgiTest, WithoutMemoryForItsAnswerARequestFailsAndTheNextDoesNot) {
    if (!testing::ScarceMemory::works) GTEST_SKIP() << testing::ScarceMemory::why_not;
    for (const bool whole : {false, true}) {
        const std::uint64_t allocations = testing::fail_each([&](std::uint64_t nth) {
            handler_ = std::move(*FastCgi::create(*loop_, options()));
            const auto poor = begin("GET");
            receive_request();
            send(record(FcgiType::standard_output, 1, "Status: 201\r\n\r\npoor") +
                 record(FcgiType::standard_error, 1, "a line") +
                 (whole ? end_of(1) : std::string()));
            bool failed = false;
            {
                const testing::ScarceMemory scarce(nth);
                for (int i = 0; i < 3; ++i) loop_->turn(0ms);
                failed = scarce.failed();
            }
            if (!whole && poor->responded() && poor->status() == 201) send(end_of(1));
            EXPECT_TRUE(until([&] {
                if (poor->responded()) poor->finish();
                return poor->complete() || poor->broken();
            })) << nth;
            const bool sound = poor->complete() && poor->status() == 201 && poor->body() == "poor";
            EXPECT_TRUE(sound || poor->broken() || poor->status() >= 500) << nth;
            const auto next = begin("GET");
            EXPECT_TRUE(until([&] { return answer_all(), next->responded(); })) << nth;
            EXPECT_EQ(next->status(), 200) << nth;
            EXPECT_TRUE(until([&] { return handler_->is_idle(); })) << nth;
            for (const int fd : accepted_) ::close(fd);
            accepted_.clear();
            return failed && !HasFailure();
        });
        EXPECT_GE(allocations, 1U);
    }
}

TEST_F(FastCgiTest, ALostConnectionIsReplacedWhereOneIsAllowed) {
    FastCgiOptions one = options();
    one.connections_max = 1;
    handler_ = std::move(*FastCgi::create(*loop_, one));
    const auto before = begin("GET");
    receive_request();
    send(whole_answer(1));
    ASSERT_TRUE(until([&] { return before->responded(); }));
    const auto lost = begin("GET");
    receive_request();
    ::shutdown(peer_, SHUT_RDWR);
    ASSERT_TRUE(until([&] { return answer_all(), lost->responded(); }));
    EXPECT_EQ(lost->status(), 200);
}

// A request whose kept connection was lost waits for a place once more, with the same deadline.
TEST_F(FastCgiTest, ARequestThatIsSentAgainDoesNotWaitForEver) {
    FastCgiOptions patient = options();
    patient.connections_max = 1;
    patient.rules.timeout = 0s;
    patient.rules.waiting_max = 10s;
    handler_ = std::move(*FastCgi::create(*loop_, patient));
    const auto before = begin("GET");
    receive_request();
    send(whole_answer(1));
    ASSERT_TRUE(until([&] { return before->responded(); }));
    const auto lost = begin("GET");
    receive_request();
    const auto other = begin("GET");
    ::shutdown(peer_, SHUT_RDWR);
    receive_request();  // of the other, which hangs; it was the first to wait
    EXPECT_FALSE(lost->responded());
    clock_.advance(10s);
    loop_->turn(0ms);
    loop_->turn(0ms);
    EXPECT_EQ(lost->status(), 503);
    EXPECT_FALSE(other->responded());
}

TEST_F(FastCgiTest, MayLetAnyNumberWait) {
    FastCgiOptions unlimited = options();
    unlimited.connections_max = 1;
    unlimited.waiting_max = SIZE_MAX;
    handler_ = std::move(*FastCgi::create(*loop_, unlimited));
    const std::array waiting{begin("GET"), begin("GET"), begin("GET")};
    for (const auto& exchange : waiting) {
        ASSERT_TRUE(until([&] { return answer_all(), exchange->responded(); }));
        EXPECT_EQ(exchange->status(), 200);
    }
}

// A least time of 0 means that a connection is given back at once where another call waits.
TEST_F(FastCgiTest, AnIdleConnectionDoesNotKeepTheLoopBusy) {
    FastCgiOptions eager = options();
    eager.idle_least = 0s;
    handler_ = std::move(*FastCgi::create(*loop_, eager));
    const auto exchange = begin("GET");
    ASSERT_TRUE(until([&] { return answer_all(), exchange->responded(); }));
    loop_->turn(0ms);
    EXPECT_GT(loop_->wait_wanted(), 0ms);
}

TEST_F(FastCgiTest, MayHaveAnyNumberOfConnections) {
    FastCgiOptions unlimited = options();
    unlimited.connections_max = SIZE_MAX;
    handler_ = std::move(*FastCgi::create(*loop_, unlimited));
    const auto exchange = begin("GET");
    receive_request();
    answer(FcgiType::standard_output, 1, "Status: 200\r\n\r\n");
    EXPECT_TRUE(until([&] { return exchange->responded(); }));
    EXPECT_EQ(exchange->status(), 200);
}

}  // namespace
}  // namespace tiderace::http::cgi
