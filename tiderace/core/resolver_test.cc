#include "tiderace/core/resolver.h"

#include <gtest/gtest.h>
#include <netdb.h>
#include <sys/socket.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <memory>
#include <optional>
#include <semaphore>
#include <string>
#include <thread>
#include <vector>

#include "tiderace/testing/manual_clock.h"

namespace tiderace::core {
namespace {

using Found = Result<std::vector<Address>>;

TEST(HostPort, TakesNamesAddressesAndPaths) {
    struct Case {
        const char* text;
        const char* host;
        int port;
        const char* literal;
    };
    for (const Case& each : std::vector<Case>{
             {"example.org:443", "example.org", 443, ""},
             {"127.0.0.1:80", "127.0.0.1", 80, "127.0.0.1:80"},
             {"[::1]:65535", "::1", 65535, "[::1]:65535"},
             {"localhost:80", "localhost", 80, "127.0.0.1:80 [::1]:80"},
             {"unix:/run/x.sock", "unix:/run/x.sock", 0, "unix:/run/x.sock"},
             {"db_1:5432", "db_1", 5432, ""},
         }) {
        const auto parsed = HostPort::parse(each.text);
        ASSERT_TRUE(parsed.has_value()) << parsed.error().message();
        EXPECT_EQ(parsed->host, each.host);
        EXPECT_EQ(parsed->port, each.port);
        std::string literal;
        for (const Address& address : parsed->literal()) {
            literal += (literal.empty() ? "" : " ") + address.to_string();
        }
        EXPECT_EQ(literal, each.literal);
    }
}

TEST(HostPort, RefusesWhatIsNone) {
    for (const std::string text : {"", ":80", "example.org", "example.org:", "example.org:0",
                                   "example.org:65536", "example.org:80x", "::1:80", "[::1:80",
                                   "[nonsense]:80", "a b:80", "a/b:80", "unix:", "\r\n:80"}) {
        const auto parsed = HostPort::parse(text);
        ASSERT_FALSE(parsed.has_value()) << text;
        EXPECT_NE(parsed.error().message().find("address"), std::string::npos);
    }
    EXPECT_FALSE(HostPort::parse(std::string(254, 'a') + ":80").has_value());
    EXPECT_TRUE(HostPort::parse(std::string(253, 'a') + ":80").has_value());
    EXPECT_FALSE(HostPort::parse("a\x7f:80").has_value());
    EXPECT_TRUE(HostPort::parse("!~:80").has_value());
    EXPECT_TRUE(HostPort::parse("a:1").has_value());
    EXPECT_FALSE(HostPort::parse(std::string("a\0b:80", 6)).has_value());
}

struct TestQuery final : Resolver::Query {
    void on_resolved(Found answer) override {
        ++told;
        found = std::move(answer);
        if (then) then();
    }
    int told = 0;
    std::optional<Found> found;
    std::function<void()> then;
};

class ResolverTest : public ::testing::Test {
  protected:
    Resolver& make(std::size_t waiting_max = 256) {
        return resolver_.emplace(
            *loop_, pool_,
            ResolverOptions{.lookups_max = 1,
                            .waiting_max = waiting_max,
                            .look_up = [this](const std::string& host) { return answer(host); }});
    }
    // On a thread of the pool.
    Found answer(const std::string& host) {
        ++lookups_;
        looked_up_on_ = std::this_thread::get_id();
        if (host.starts_with("slow")) go_.acquire();
        if (host == "nowhere") return fail(Error(0, "look up", host, "there is no such host"));
        return std::vector{Address::loopback(0)};
    }
    template <typename Condition>
    void turn_until(Condition&& condition) {
        while (!condition()) loop_->turn(10ms);
    }
    Instant later() const { return loop_->now() + 1h; }

    std::unique_ptr<EventLoop> loop_ = std::move(*EventLoop::create({}));
    WorkerPool pool_{2, 8};
    std::counting_semaphore<64> go_{0};
    std::atomic<int> lookups_ = 0;
    std::atomic<std::thread::id> looked_up_on_;
    std::optional<Resolver> resolver_;
};

TEST_F(ResolverTest, LooksUpOffTheLoop) {
    Resolver& resolver = make();
    TestQuery good, bad;
    good.resolve(resolver, "example.org", later());
    bad.resolve(resolver, "nowhere", later());
    EXPECT_EQ(good.told, 0) << "told inside the call";
    turn_until([&] { return good.told == 1 && bad.told == 1; });
    EXPECT_EQ(good.found->value(), std::vector{Address::loopback(0)});
    EXPECT_EQ(bad.found->error().message(), "look up nowhere: there is no such host");
    EXPECT_NE(looked_up_on_.load(), std::this_thread::get_id());
    EXPECT_EQ(resolver.lookups() + resolver.waiting(), 0U);
}

TEST_F(ResolverTest, QueriesForOneHostShareALookup) {
    Resolver& resolver = make();
    std::vector<TestQuery> queries(5);
    for (TestQuery& query : queries) query.resolve(resolver, "slow.example", later());
    EXPECT_EQ(resolver.lookups(), 1U);
    go_.release();
    turn_until([&] { return std::ranges::all_of(queries, [](auto& q) { return q.told == 1; }); });
    EXPECT_EQ(lookups_, 1);
}

// The process was stopped, and the pool's threads with it: an answer that came meanwhile is theirs
// to report. They get as long as the loop was late, and a second at most.
TEST(ResolverInALateLoop, WaitsForTheThreadsThatWereStoppedWithIt) {
    for (const bool answers : {true, false}) {
        testing::ManualClock clock;
        const auto loop = std::move(*EventLoop::create({.clock = &clock}));
        WorkerPool pool(1, 8);
        std::counting_semaphore<1> go{0};
        Resolver resolver(*loop, pool, {.look_up = [&](const std::string&) -> Found {
            go.acquire();
            return std::vector{Address::loopback(0)};
        }});
        TestQuery query;
        loop->turn(0s);
        query.resolve(resolver, "example.org", loop->now() + 5s);
        clock.advance(1h);
        loop->turn(0s);
        EXPECT_EQ(query.told, 0);
        if (answers) {
            go.release();
            while (query.told == 0) loop->turn(10ms);
            EXPECT_TRUE(query.found->has_value());
        } else {
            clock.advance(1s);
            for (int i = 0; i < 3; ++i) loop->turn(0s);
            ASSERT_EQ(query.told, 1);
            EXPECT_EQ(query.found->error().code(), ETIMEDOUT);
            go.release();
        }
    }
}

TEST_F(ResolverTest, AWithdrawnQueryIsNotCalled) {
    Resolver& resolver = make();
    auto gone = std::make_unique<TestQuery>();
    TestQuery reset, stays, behind;
    gone->resolve(resolver, "slow.example", later());
    reset.resolve(resolver, "slow.example", later());
    stays.resolve(resolver, "slow.example", later());
    behind.resolve(resolver, "behind.example", later());
    gone.reset();
    reset.reset();
    behind.reset();
    go_.release();
    turn_until([&] { return stays.told == 1; });
    turn_until([&] { return resolver.lookups() + resolver.waiting() == 0; });
    EXPECT_EQ(reset.told, 0);
    EXPECT_EQ(behind.told, 0);
    EXPECT_EQ(lookups_, 1) << "a host without waiting queries is not looked up";
    reset.resolve(resolver, "again.example", later());
    turn_until([&] { return reset.told == 1; });
}

TEST_F(ResolverTest, OneMayDestroyAnotherInItsCallback) {
    Resolver& resolver = make();
    auto first = std::make_unique<TestQuery>();
    auto second = std::make_unique<TestQuery>();
    TestQuery third;
    first->then = [&] { second.reset(); };
    first->resolve(resolver, "slow.example", later());
    second->resolve(resolver, "slow.example", later());
    third.resolve(resolver, "slow.example", later());
    go_.release();
    turn_until([&] { return third.told == 1; });
    EXPECT_EQ(first->told, 1);
}

TEST_F(ResolverTest, ADeadlineEndsTheWaitAndNotTheLookup) {
    Resolver& resolver = make();
    TestQuery hasty, patient;
    hasty.resolve(resolver, "slow.example", loop_->now());
    patient.resolve(resolver, "slow.example", later());
    turn_until([&] { return hasty.told == 1; });
    EXPECT_EQ(hasty.found->error().code(), ETIMEDOUT);
    EXPECT_EQ(patient.told, 0);
    go_.release();
    turn_until([&] { return patient.told == 1; });
    EXPECT_EQ(hasty.told, 1);
}

TEST_F(ResolverTest, AFullQueueRefusesAndWithdrawnOnesMakeRoom) {
    Resolver& resolver = make(2);
    std::vector<TestQuery> queries(4);
    for (int i = 0; i < 4; ++i) {
        queries[i].resolve(resolver, "slow" + std::to_string(i), later());
    }
    EXPECT_EQ(resolver.lookups(), 1U);
    EXPECT_EQ(resolver.waiting(), 2U);
    turn_until([&] { return queries[3].told == 1; });
    EXPECT_EQ(queries[3].found->error().code(), EBUSY);
    queries[1].reset();
    queries[3].resolve(resolver, "slow3", later());
    EXPECT_EQ(resolver.waiting(), 2U);
    go_.release(3);
    turn_until([&] { return queries[3].told == 2; });
    EXPECT_TRUE(queries[3].found->has_value());
}

TEST_F(ResolverTest, WaitsForAPoolThatIsFullOfOtherWork) {
    WorkerPool busy(1, 1);
    std::binary_semaphore done(0);
    ASSERT_TRUE(busy.submit([&] { done.acquire(); }));
    while (busy.counters().queued > 0) std::this_thread::yield();
    ASSERT_TRUE(busy.submit([] {}));
    Resolver resolver(*loop_, busy, {.look_up = [](const std::string&) -> Found {
        return std::vector{Address::loopback(0)};
    }});
    TestQuery query;
    query.resolve(resolver, "example.org", later());
    EXPECT_EQ(resolver.lookups(), 0U);
    done.release();
    turn_until([&] { return query.told == 1; });
    EXPECT_TRUE(query.found->has_value());
}

TEST_F(ResolverTest, EndsWithoutCallingItsQueries) {
    TestQuery running, waiting, due;
    running.resolve(make(), "slow.example", later());
    waiting.resolve(*resolver_, "other.example", later());
    due.resolve(*resolver_, "other.example", loop_->now());
    go_.release();
    resolver_.reset();
    loop_->turn(0ms);
    EXPECT_EQ(running.told + waiting.told + due.told, 0);
}

TEST(LookUp, TheSystemKnowsLiteralsAndRefusesWhatIsNoName) {
    EXPECT_EQ(look_up("127.0.0.1").value(), std::vector{Address::loopback(0)});
    EXPECT_FALSE(look_up("").has_value());
    EXPECT_FALSE(look_up("a\nb").has_value());
}

// A list as getaddrinfo makes one.
std::vector<Address> found_in(const std::vector<std::string>& addresses) {
    std::vector<sockaddr_storage> raw(addresses.size());
    std::vector<addrinfo> list(addresses.size());
    for (std::size_t i = 0; i < list.size(); ++i) {
        list[i].ai_addr = reinterpret_cast<sockaddr*>(&raw[i]);
        const auto address = Address::parse(addresses[i]);
        if (address) list[i].ai_addrlen = address->to_sockaddr(raw[i]);  // else: of no known family
        list[i].ai_next = i + 1 < list.size() ? &list[i + 1] : nullptr;
    }
    return addresses_in(list.empty() ? nullptr : list.data());
}

TEST(LookUp, GivesEachAddressOnceInItsOrderAndNoneOfAnotherFamily) {
    const std::vector<Address> found =
        found_in({"192.0.2.1:0", "[2001:db8::1]:0", "192.0.2.1:0", "of another family",
                  "192.0.2.2:0", "[2001:db8::1]:0"});
    std::string all;
    for (const Address& address : found) all += address.to_string() + ' ';
    EXPECT_EQ(all, "192.0.2.1:0 [2001:db8::1]:0 192.0.2.2:0 ");
    EXPECT_TRUE(found_in({}).empty());
    EXPECT_TRUE(found_in({"of another family"}).empty());
}

TEST(LookUp, GivesOnlySoManyAddresses) {
    std::vector<std::string> addresses;
    for (std::size_t i = 0; i <= Resolver::addresses_max; ++i) {
        addresses.push_back("192.0.2." + std::to_string(i) + ":0");
    }
    EXPECT_EQ(found_in(addresses).size(), Resolver::addresses_max);
}

}  // namespace
}  // namespace tiderace::core
