#include "load/worker.h"

#include <gtest/gtest.h>

#include <atomic>
#include <functional>
#include <map>
#include <string>
#include <thread>

#include "load/team.h"
#include "tiderace/net/listener.h"
#include "tiderace/net/tcp_server.h"

namespace tiderace::load {
namespace {

constexpr std::string_view hello = "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello";

constexpr std::string_view ping(
    "\0\0\x08\x06\0\0\0\0\0"
    "12345678",
    17);

// A server's answer to the i-th request of all; "" leaves it unanswered.
using Script = std::function<std::string(std::uint64_t)>;

// A server of scripted answers, on a thread of its own. After an answer with "close" it ends the
// connection; "!" in front of one resets it instead; a PING of HTTP/2 behind one is repeated for
// ever.
class ScriptedServer final : public net::SessionFactory, private net::Session {
  public:
    explicit ScriptedServer(Script script) : script_(std::move(script)) {
        loop_ = std::move(*core::EventLoop::create({}));
        server_ = std::make_unique<net::TcpServer>(*loop_, *this, net::TcpServerOptions{});
        auto listener = net::open_listener(loop_->kernel(), core::Address::loopback(0), {});
        address_ = net::local_address(loop_->kernel(), *listener);
        server_->listen(std::move(*listener));
        thread_ = std::thread([this] { loop_->run(); });
    }
    ~ScriptedServer() {
        loop_->request_stop();
        thread_.join();
        server_.reset();
    }
    const core::Address& address() const { return address_; }

  private:
    net::Session& make_session(net::Connection&) override { return *this; }

    std::size_t on_data(net::Connection& connection, ByteView data) override {
        std::size_t used = 0;
        while (used < data.size()) {
            std::size_t& body_left = body_left_[&connection];
            const std::size_t skipped = std::min(body_left, data.size() - used);
            body_left -= skipped;
            used += skipped;
            const std::size_t end = body_left > 0 ? data.npos : data.find("\r\n\r\n", used);
            if (end == data.npos) return used;
            const ByteView head = data.substr(used, end - used);
            used = end + 4;
            const std::size_t length = head.find("Content-Length: ");
            if (length != head.npos) body_left = std::stoul(std::string(head.substr(length + 16)));
            if (!answer(connection)) return data.size();
        }
        return used;
    }

    bool answer(net::Connection& connection) {
        const std::string answer = script_(requests_++);
        if (answer.starts_with('!')) {
            connection.close(net::CloseReason::aborted);
            return false;
        }
        connection.write(answer);
        if (answer.ends_with(ping)) on_deadline(connection);
        if (answer.find("close") == answer.npos) return true;
        connection.finish();
        return false;
    }

    void on_deadline(net::Connection& connection) override {
        connection.write(ping);
        connection.set_deadline(connection.loop().now() + 10ms);
    }

    void on_close(net::Connection& connection, net::CloseReason) override {
        body_left_.erase(&connection);
    }

    Script script_;
    std::uint64_t requests_ = 0;
    std::map<net::Connection*, std::size_t> body_left_;
    std::unique_ptr<core::EventLoop> loop_;
    std::unique_ptr<net::TcpServer> server_;
    core::Address address_;
    std::thread thread_;
};

LoadPlan plan_for(const core::Address& address, LoadOptions options) {
    LoadPlan plan{.options = std::move(options),
                  .target = {.address = address, .host = "x", .path = "/"}};
    plan.request = render_request(plan.target, plan.options);
    return plan;
}

LoadTally run(const LoadPlan& plan) {
    auto worker = LoadWorker::create(plan, whole_of(plan));
    EXPECT_TRUE(worker) << worker.error().message();
    (*worker)->run();
    EXPECT_TRUE((*worker)->progress().done);
    return (*worker)->tally();
}

LoadTally run_against(Script script, LoadOptions options) {
    ScriptedServer server(std::move(script));
    return run(plan_for(server.address(), std::move(options)));
}

TEST(LoadWorker, SendsExactlyTheRequestedNumber) {
    const struct {
        std::string_view name;
        LoadOptions options;
    } cases[] = {
        {"kept alive", {.connections = 4, .requests = 50}},
        {"pipelined", {.connections = 3, .requests = 50, .pipeline = 7}},
        {"one connection each", {.connections = 4, .requests = 50, .close = true}},
        {"open loop", {.connections = 4, .requests = 50, .rate = 5'000}},
        {"open loop, pipelined", {.connections = 2, .requests = 50, .rate = 9'000, .pipeline = 4}},
        {"thinking", {.connections = 4, .requests = 20, .think = 1ms}},
        {"ramped", {.connections = 4, .requests = 20, .ramp = 20ms}},
        {"ramped open loop", {.connections = 4, .requests = 20, .rate = 5'000, .ramp = 10ms}},
        {"HTTP/1.0", {.connections = 4, .requests = 20, .http = LoadHttp::v1_0}},
        {"with bodies", {.connections = 4, .requests = 20, .body_bytes = 100}},
        {"with large bodies",
         {.connections = 2, .requests = 4, .body_bytes = 300'000, .pipeline = 2}},
        {"slow heads",
         {.connections = 4, .requests = 8, .slow_senders = 3, .slow_send_rate = 2'000}},
        {"slow bodies",
         {.connections = 2,
          .requests = 4,
          .body_bytes = 200,
          .slow_senders = 100,
          .slow_send_rate = 5'000,
          .slow_drips = LoadSlowPart::body}},
        {"with hashes", {.connections = 2, .requests = 20, .check_hash = true}},
    };
    for (const auto& each : cases) {
        const LoadTally tally = run_against([](auto) { return std::string(hello); }, each.options);
        EXPECT_EQ(tally.answers, each.options.requests) << each.name;
        EXPECT_EQ(tally.latency.count() + tally.slow_latency.count(), each.options.requests)
            << each.name;
        EXPECT_EQ(tally.slow_latency.count() > 0, each.options.slow_senders > 0) << each.name;
        EXPECT_GE(tally.sent_bytes, each.options.requests * each.options.body_bytes) << each.name;
        EXPECT_EQ(tally.body_bytes, 5 * each.options.requests) << each.name;
        EXPECT_EQ(tally.errors_total() + tally.connect_errors_total(), 0U) << each.name;
        EXPECT_EQ(tally.unanswered, 0U) << each.name;
        EXPECT_EQ(tally.opened >= each.options.requests, each.options.close) << each.name;
        EXPECT_EQ(tally.reference.length, 5U) << each.name;
    }
}

TEST(LoadWorker, ManyConnectionsAreOpenBeforeAnythingIsAsked) {
    const struct {
        std::string_view name;
        LoadOptions options;
    } cases[] = {
        {"closed loop", {.connections = 300, .requests = 600}},
        {"open loop", {.connections = 300, .requests = 600, .rate = 50'000}},
        {"HTTP/1.0", {.connections = 300, .requests = 600, .http = LoadHttp::v1_0}},
    };
    for (const auto& each : cases) {
        const LoadTally tally = run_against([](auto) { return std::string(hello); }, each.options);
        EXPECT_EQ(tally.answers, 600U) << each.name;
        EXPECT_EQ(tally.open_max, 300U) << each.name;
        EXPECT_EQ(tally.starved, 0U) << each.name;
        EXPECT_LT(tally.late_max, 100s) << each.name;
    }
}

TEST(LoadWorker, CountsEachWrongAnswerByItsKind) {
    const struct {
        LoadError kind;
        std::string answer;
        bool check_hash = false;
    } cases[] = {
        {LoadError::wrong_status, "HTTP/1.1 500 No\r\nContent-Length: 5\r\n\r\nhello"},
        {LoadError::wrong_length, "HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nhell"},
        {LoadError::wrong_hash, "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhallo", true},
        {LoadError::not_http, "<html>\r\n\r\n"},
        {LoadError::cut_short, "HTTP/1.1 200 OK\r\nx: close\r\nContent-Length: 5\r\n\r\nhe"},
        {LoadError::cut_short, "HTTP/1.1 200 OK\r\nx: close"},
        {LoadError::closed_early, "!"},
        {LoadError::unasked, std::string(hello) + std::string(hello)},
    };
    for (const auto& each : cases) {
        // On a kept connection a request may meet the server's end: that is no error.
        const std::uint64_t wrong = each.kind == LoadError::closed_early ? 0 : 5;
        const auto script = [&](std::uint64_t i) {
            return i == wrong ? each.answer : std::string(hello);
        };
        LoadTally tally =
            run_against(script, {.connections = 1, .requests = 10, .check_hash = each.check_hash});
        // An unasked answer comes after a right one, and costs no request.
        EXPECT_EQ(tally.answers, each.kind == LoadError::unasked ? 10U : 9U)
            << to_string(each.kind);
        const std::uint64_t counted = each.kind == LoadError::closed_early
                                          ? tally.error(each.kind) + tally.error(LoadError::reset)
                                          : tally.error(each.kind);
        EXPECT_EQ(counted, 1U) << to_string(each.kind);
        EXPECT_EQ(tally.errors_total(), 1U) << to_string(each.kind);
    }
}

TEST(LoadWorker, WhatAnEndingServerLeftIsAskedAgain) {
    const auto script = [](std::uint64_t i) {
        return i % 4 == 3 ? "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 5\r\n\r\nhello"
                          : std::string(hello);
    };
    const LoadTally tally = run_against(script, {.connections = 2, .requests = 40, .pipeline = 5});
    EXPECT_EQ(tally.answers, 40U);
    EXPECT_EQ(tally.sent, 40U);
    EXPECT_EQ(tally.errors_total(), 0U);
    EXPECT_GT(tally.opened, 2U);
}

TEST(LoadWorker, ARequestThatMeetsTheEndOfAKeptConnectionIsSentAgain) {
    const auto third = [](std::uint64_t i) {
        return i % 3 == 2 ? std::string("!") : std::string(hello);
    };
    const LoadTally all = run_against(third, {.connections = 1, .requests = 20});
    EXPECT_EQ(all.answers, 20U);
    EXPECT_EQ(all.sent, 20U);
    EXPECT_EQ(all.errors_total(), 0U);
    EXPECT_EQ(all.opened, 10U);
    // Once: the second attempt is the first request of its connection.
    const auto never = [](std::uint64_t i) {
        return i == 5 || i == 6 ? std::string("!") : std::string(hello);
    };
    const LoadTally tally = run_against(never, {.connections = 1, .requests = 10});
    EXPECT_EQ(tally.answers, 9U);
    EXPECT_EQ(tally.errors_total(), 1U);
}

TEST(LoadWorker, AServerThatHangsIsTimedOut) {
    LoadTally tally = run_against([](auto) { return std::string(); },
                                  {.connections = 2, .requests = 2, .timeout = 150ms});
    EXPECT_EQ(tally.error(LoadError::timed_out), 2U);
    EXPECT_EQ(tally.answers, 0U);
    EXPECT_EQ(tally.starved, 2U);
}

// The bytes that come are no part of an answer, and the run would never end.
TEST(LoadWorker, AServerThatOnlyPingsIsTimedOut) {
    // To the first half of the preface; more of the client's bytes are no request.
    const auto script = [](std::uint64_t i) {
        return i == 0 ? std::string("\0\0\0\x04\0\0\0\0\0", 9).append(ping) : std::string();
    };
    LoadTally tally = run_against(
        script, {.connections = 1, .requests = 1, .http = LoadHttp::v2, .timeout = 150ms});
    EXPECT_EQ(tally.error(LoadError::timed_out), 1U) << tally.fault;
    EXPECT_EQ(tally.answers, 0U);
}

// Answers before the window are dropped, and answers behind it are not recorded.
TEST(LoadWorker, LatencyIsThatOfItsWindow) {
    std::atomic<std::uint64_t> let_through = 10;
    ScriptedServer server([&](std::uint64_t i) {
        while (i >= let_through) std::this_thread::yield();
        return std::string(hello);
    });
    const LoadPlan plan = plan_for(server.address(), {.connections = 1, .requests = 20});
    auto team = start_threads(plan, whole_of(plan), 1);
    ASSERT_TRUE(team);
    // Then the worker has no other answer before the next is let through.
    const auto await_answers = [&] {
        while ((*team)->progress().answers < let_through) std::this_thread::yield();
    };
    await_answers();
    (*team)->set_latency_window(LatencyWindow::open);
    let_through = 13;
    await_answers();
    (*team)->set_latency_window(LatencyWindow::closed);
    let_through = 20;
    const LoadTally tally = (*team)->finish()->tally;
    EXPECT_EQ(tally.answers, 20U);
    EXPECT_EQ(tally.latency.count(), 3U);
}

TEST(LoadWorker, AWindowWithoutAnAnswerHasNoLatency) {
    ScriptedServer server([](auto) { return std::string(hello); });
    const LoadPlan plan = plan_for(server.address(), {.connections = 1, .requests = 3});
    auto worker = LoadWorker::create(plan, whole_of(plan));
    ASSERT_TRUE(worker);
    (*worker)->set_latency_window(LatencyWindow::closed);
    (*worker)->run();
    EXPECT_EQ((*worker)->tally().answers, 3U);
    EXPECT_EQ((*worker)->tally().latency.count(), 0U);
}

// No request may be sent before them: the run had no end, and no error.
TEST(LoadWorker, AServerThatNeverSendsSettingsIsTimedOut) {
    // The duration only bounds the test where it fails.
    LoadTally tally = run_against(
        [](auto) { return std::string(); },
        {.connections = 1, .duration = 5s, .requests = 2, .http = LoadHttp::v2, .timeout = 150ms});
    EXPECT_EQ(tally.error(LoadError::timed_out), 2U);
    EXPECT_EQ(tally.fault, "no SETTINGS frame came in time");
    EXPECT_EQ(tally.opened, 2U);
    EXPECT_EQ(tally.sent, 0U);
}

TEST(LoadWorker, SlowReadersAreCountedApart) {
    const std::string body(20'000, 'x');
    const LoadTally tally =
        run_against([&](auto) { return "HTTP/1.1 200 OK\r\nContent-Length: 20000\r\n\r\n" + body; },
                    {.connections = 2, .requests = 6, .slow_readers = 1, .slow_rate = 1_MiB});
    EXPECT_EQ(tally.answers, 6U);
    EXPECT_GT(tally.slow_latency.count(), 0U);
    EXPECT_EQ(tally.latency.count() + tally.slow_latency.count(), 6U);
}

TEST(LoadWorker, SlowClientsAreThatPartOfFewConnections) {
    const auto script = [](auto) { return std::string(hello); };
    const struct {
        std::string_view name;
        LoadOptions options;
    } cases[] = {
        {"readers", {.connections = 10, .requests = 100, .slow_readers = 10, .slow_rate = 1_MiB}},
        {"senders",
         {.connections = 10, .requests = 100, .slow_senders = 10, .slow_send_rate = 1_MiB}},
    };
    for (const auto& each : cases) {
        const LoadTally tally = run_against(script, each.options);
        EXPECT_GT(tally.latency.count(), 0U) << each.name << ": nine of ten are not slow";
        EXPECT_GT(tally.slow_latency.count(), 0U) << each.name;
    }
}

TEST(LoadWorker, EachLoopHasItsPartOfTheSlowClients) {
    ScriptedServer server([](auto) { return std::string(hello); });
    const LoadPlan plan =
        plan_for(server.address(),
                 {.connections = 100, .requests = 2'000, .slow_readers = 50, .slow_rate = 1_MiB});
    for (std::size_t i = 0; i < 2; ++i) {
        auto worker = LoadWorker::create(plan, share_of(whole_of(plan), i, 2));
        ASSERT_TRUE(worker);
        (*worker)->run();
        EXPECT_GT((*worker)->tally().latency.count(), 0U) << "loop " << i;
        EXPECT_GT((*worker)->tally().slow_latency.count(), 0U) << "loop " << i;
    }
}

// The answer to the second request lies in the socket while the client pauses for longer than the
// time-out.
TEST(LoadWorker, ASlowReadersOwnPauseIsNoTimeOut) {
    LoadTally tally =
        run_against([](auto) { return std::string(hello); }, {.connections = 1,
                                                              .requests = 2,
                                                              .slow_readers = 100,
                                                              .slow_rate = hello.size() * 2 / 3,
                                                              .timeout = 1s});
    EXPECT_EQ(tally.error(LoadError::timed_out), 0U);
    EXPECT_EQ(tally.answers, 2U);
}

// Its pause is the client's, and not the connection's: the next one opens after it.
TEST(LoadWorker, AClientPausesAlsoWhereEachRequestHasAConnection) {
    const struct {
        std::string_view name;
        std::string answer;
        LoadOptions options;
    } cases[] = {
        {"we close", std::string(hello), {.connections = 3, .duration = 300ms, .close = true}},
        {"the server closes",
         "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 5\r\n\r\nhello",
         {.connections = 3, .duration = 300ms}},
    };
    for (const auto& each : cases) {
        LoadOptions options = each.options;
        options.think = 1h;
        const LoadTally tally = run_against([&](auto) { return each.answer; }, options);
        EXPECT_LE(tally.answers, 3U) << each.name << ": one of each client, and then it thinks";
        EXPECT_GE(tally.answers, 1U) << each.name;
        EXPECT_EQ(tally.opened, tally.answers + tally.unanswered) << each.name;
        EXPECT_EQ(tally.errors_total() + tally.connect_errors_total(), 0U) << each.name;
    }
}

TEST(LoadWorker, ReportsThatNothingListens) {
    core::Address gone;
    {
        gone = ScriptedServer([](auto) { return std::string(); }).address();
    }
    LoadTally tally = run(plan_for(gone, {.connections = 2, .duration = 100ms}));
    EXPECT_GE(tally.error(ConnectError::refused), 2U);
    EXPECT_EQ(tally.opened, 0U);
    EXPECT_EQ(tally.sent, 0U);
}

TEST(LoadWorker, AnOpenLoopIsChargedForItsWaiting) {
    // One connection, and the first answer takes longer than the whole schedule.
    const auto script = [](std::uint64_t i) {
        if (i == 0) std::this_thread::sleep_for(50ms);  // the load, not a synchronisation
        return std::string(hello);
    };
    const LoadTally tally = run_against(script, {.connections = 1, .requests = 20, .rate = 1'000});
    EXPECT_EQ(tally.answers, 20U);
    EXPECT_GT(tally.latency.quantile(0.5), 20ms);
    EXPECT_GT(tally.late_max, 20ms);
}

}  // namespace
}  // namespace tiderace::load
