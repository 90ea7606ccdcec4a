// Faults of an application, and of its clients, over both versions of HTTP: exceptions, waiting
// exchanges, and their observers.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <memory>
#include <new>
#include <stdexcept>
#include <string>

#include "tiderace/http/exchange.h"
#include "tiderace/http/stages.h"
#include "tiderace/log/doorbell.h"
#include "tiderace/log/ring_fixture.h"
#include "tiderace/testing/fake_world.h"
#include "tiderace/testing/h2_stage.h"

namespace tiderace::http {
namespace {

using testing::H1Stage;
using testing::H2Client;
using testing::H2Stage;

// A client of either version, with one request.
class Client {
  public:
    Client(H2Stage& stage, bool http2) : peer_(stage.connect()) {
        if (http2) h2_ = std::make_unique<H2Client>(*peer_);
    }

    void ask(const std::string& path) {
        h2_ ? (void)h2_->get(path) : peer_->say(head("GET", path));
    }
    // The beginning of a body of six bytes.
    void upload(const std::string& path, const std::string& body) {
        if (h2_) {
            h2_->request("POST", path, {}, false);
            h2_->data(1, body, false);
        } else {
            peer_->say(head("POST", path, "Content-Length: 6\r\n") + body);
        }
    }
    void say_rest(const std::string& body) { h2_ ? h2_->data(1, body, true) : peer_->say(body); }

    int status() {
        if (h2_) return h2_->answer(1).status;
        const std::string& heard = peer_->heard();
        return heard.size() < 12 ? 0 : std::stoi(heard.substr(9, 3));
    }
    bool complete() {
        if (h2_) return h2_->answer(1).ended;
        return peer_->heard().find("\r\n\r\n") != std::string::npos;
    }
    // It sees that the answer lacks its end.
    bool broken() { return h2_ ? h2_->answer(1).reset.has_value() : peer_->over(); }
    testing::Peer& peer() { return *peer_; }
    H2Client& h2() { return *h2_; }

  private:
    static std::string head(const std::string& method, const std::string& path,
                            const std::string& fields = "") {
        return method + ' ' + path + " HTTP/1.1\r\nHost: a\r\n" + fields + "\r\n";
    }

    std::unique_ptr<testing::Peer> peer_;
    std::unique_ptr<H2Client> h2_;
};

class ExchangeLife : public ::testing::TestWithParam<bool> {
  protected:
    ExchangeLife() { world_.loop().set_log(&logger_); }
    ~ExchangeLife() override { kept_ = {}; }

    std::unique_ptr<Client> connect() { return std::make_unique<Client>(stage_, GetParam()); }
    std::unique_ptr<Client> answered(const char* path) {
        auto client = connect();
        client->ask(path);
        EXPECT_TRUE(stage_.run_until([&] { return client->complete(); }));
        return client;
    }
    bool run_until(const std::function<bool()>& done) { return stage_.run_until(done); }
    // Exactly one log line reports it; and the next client is served.
    void expect_logged(const std::string& what) {
        const std::string lines = log::take_all(ring_);
        time_.ms += 1'000;  // a second has room for one line only
        EXPECT_THAT(lines, ::testing::HasSubstr(what));
        EXPECT_EQ(std::ranges::count(lines, '\n'), 1) << lines;
        expect_others_served();
    }
    void expect_others_served() {
        const auto other = connect();
        other->ask("/hello");
        EXPECT_TRUE(run_until([&] { return other->status() == 200 && other->complete(); }));
    }

    log::Doorbell bell_;
    log::Ring ring_{64_KiB, bell_};
    struct Time final : log::TimeSource {
        std::int64_t unix_ms() override { return ms; }
        std::int64_t ms = 1'000'000;
    };
    Time time_;
    log::Logger logger_{ring_, time_};
    testing::FakeWorld world_;
    H2Stage stage_{world_};
    core::Ref<Exchange> kept_;
};

INSTANTIATE_TEST_SUITE_P(Http, ExchangeLife, ::testing::Values(false, true),
                         [](const auto& http2) { return http2.param ? "h2" : "h1"; });

// --- what throws -----------------------------------------------------------------------------

TEST_P(ExchangeLife, AHandlerThatThrowsIsAnswered500) {
    stage_.on("/throws", [](Exchange&) { throw std::runtime_error("no database"); });
    stage_.on("/memory", [](Exchange&) { throw std::bad_alloc(); });
    stage_.on("/number", [](Exchange&) { throw 7; });
    for (const auto& [path, what] : {std::pair{"/throws", "no database"},
                                     {"/memory", "bad_alloc"},
                                     {"/number", "not a std::exception"}}) {
        const auto client = answered(path);
        EXPECT_EQ(client->status(), 500);
        EXPECT_FALSE(client->broken());
        expect_logged(what);
    }
}

TEST_P(ExchangeLife, AHandlerThatDefersAndThrowsIsAnsweredAndItsObserverNotified) {
    int told = 0;
    stage_.on("/throws", [&](Exchange& exchange) {
        kept_ = exchange.defer();
        exchange.on_abandoned([&] { ++told; });
        throw std::runtime_error("after deferring");
    });
    const auto client = answered("/throws");
    EXPECT_EQ(client->status(), 500);
    EXPECT_EQ(told, 1);
    kept_->respond_status(200);  // does nothing
    expect_logged("after deferring");
}

TEST_P(ExchangeLife, AHandlerThatThrowsInItsAnswerBreaksItOff) {
    stage_.on("/throws", [](Exchange& exchange) {
        Response response;
        response.set_body(testing::pieces({"begun"}, BodySource::State::wait), 100);
        exchange.respond(response);
        throw std::runtime_error("too late for 500");
    });
    const auto client = connect();
    client->ask("/throws");
    ASSERT_TRUE(run_until([&] { return client->broken(); }));
    expect_logged("too late for 500");
}

TEST_P(ExchangeLife, AnAnswerThatIsCompleteStaysSoWhateverItsHandlerThrows) {
    stage_.on("/throws", [](Exchange& exchange) {
        exchange.respond_status(204);
        throw std::runtime_error("afterwards");
    });
    const auto client = answered("/throws");
    EXPECT_EQ(client->status(), 204);
    EXPECT_FALSE(client->broken());
    expect_logged("afterwards");
}

TEST_P(ExchangeLife, AHeadThatCannotBeSentIsLogged) {
    stage_.on("/head", [](auto& e) { e.respond(Response().add("A", std::string(40'000, '{'))); });
    EXPECT_EQ(answered("/head")->status(), 500);
    expect_logged("longer than 32 KiB");
}

TEST_P(ExchangeLife, RulesAndFiltersThatThrowAreAnswered500) {
    struct Rule final : AccessRule {
        Verdict check(Exchange& exchange) override {
            if (exchange.request().path == "/rule") throw std::runtime_error("a rule");
            return Verdict::pass;
        }
    } rule;
    struct Filter final : ResponseFilter {
        void filter(Exchange& exchange, Response&) override {
            if (exchange.request().path == "/filter") throw std::runtime_error("a filter");
        }
    } filter;
    stage_.stage().site().add(rule);
    stage_.stage().site().add(filter);
    stage_.on("/filter", [](Exchange& exchange) {
        Response response;
        response.set_body("not sent");
        exchange.respond(response);
    });
    for (const auto& [path, what] : {std::pair{"/rule", "a rule"}, {"/filter", "a filter"}}) {
        const auto client = answered(path);
        EXPECT_EQ(client->status(), 500);
        expect_logged(what);
    }
}

TEST_P(ExchangeLife, ABodySourceThatThrowsBreaksTheAnswerOff) {
    struct Throwing final : BodySource {
        State pull(core::BlockPool& blocks, core::SendQueue& out, std::size_t) override {
            if (begun) throw std::runtime_error("the source is dry");
            begun = true;
            out.append(blocks, "begun");
            return State::more;
        }
        bool begun = false;
    };
    stage_.on("/source", [](Exchange& exchange) {
        Response response;
        response.set_body(std::make_unique<Throwing>());
        exchange.respond(response);
    });
    const auto client = connect();
    client->ask("/source");
    ASSERT_TRUE(run_until([&] { return client->broken(); }));
    expect_logged("the source is dry");
}

// Throws at the given place.
struct Receiver : BodyReceiver {
    enum Where { nowhere, body, trailer, end, failed };
    explicit Receiver(Where where, int* alive = nullptr) : throws(where), alive_(alive) {
        if (alive_ != nullptr) ++*alive_;
    }
    ~Receiver() override {
        if (alive_ != nullptr) --*alive_;
    }
    void check(Where where) const {
        if (throws == where) throw std::runtime_error("a receiver " + std::to_string(where));
    }
    void on_body(Exchange&, ByteView) override { check(body); }
    void on_body_end(Exchange& exchange) override {
        check(end);
        exchange.respond_status(202);
    }
    void on_body_failed(Exchange&) override { check(failed); }
    Where throws;
    int* alive_;
};

TEST_P(ExchangeLife, ABodyReceiverThatThrowsIsAnswered500AndDestroyed) {
    int alive = 0;
    Receiver::Where where = Receiver::body;
    stage_.on("/take", [&](Exchange& exchange) {
        exchange.receive_body(std::make_unique<Receiver>(where, &alive), 100);
    });
    for (const auto each : {Receiver::body, Receiver::end}) {
        where = each;
        const auto client = connect();
        client->upload("/take", "abc");
        client->say_rest("def");
        ASSERT_TRUE(run_until([&] { return client->complete(); }));
        EXPECT_EQ(client->status(), 500);
        EXPECT_EQ(alive, 0);
        expect_logged("a receiver");
    }
}

TEST_P(ExchangeLife, OneThatThrowsWhenItsBodyFailsIsDestroyed) {
    int alive = 0;
    stage_.on("/take", [&](Exchange& exchange) {
        exchange.receive_body(std::make_unique<Receiver>(Receiver::failed, &alive), 100);
    });
    const auto client = connect();
    client->upload("/take", "abc");
    ASSERT_TRUE(run_until([&] { return alive == 1; }));
    client->peer().reset();
    ASSERT_TRUE(run_until([&] { return alive == 0; }));
    expect_logged("a receiver");
}

TEST_P(ExchangeLife, AThrowingObserverDoesNotKeepTheOthersFromTheirCalls) {
    std::string told;
    stage_.on("/wait", [&](Exchange& exchange) {
        kept_ = exchange.defer();
        exchange.on_abandoned([&] { told += 'a'; });
        exchange.on_abandoned([] { throw std::runtime_error("an observer threw"); });
        exchange.on_abandoned([&] { told += 'c'; });
    });
    const auto client = connect();
    client->ask("/wait");
    ASSERT_TRUE(run_until([&] { return static_cast<bool>(kept_); }));
    client->peer().reset();
    ASSERT_TRUE(run_until([&] { return kept_->abandoned(); }));
    EXPECT_EQ(told, "ac");
    expect_logged("an observer threw");
}

// --- bodies ----------------------------------------------------------------------------------

TEST_P(ExchangeLife, AReceiverThatNeitherAnswersNorDefersIsAnswered500) {
    struct Silent final : Receiver {
        Silent() : Receiver(nowhere) {}
        void on_body_end(Exchange&) override {}
    };
    stage_.on("/take",
              [&](Exchange& exchange) { exchange.receive_body(std::make_unique<Silent>(), 100); });
    const auto client = connect();
    client->upload("/take", "abc");
    client->say_rest("def");
    ASSERT_TRUE(run_until([&] { return client->complete(); }));
    EXPECT_EQ(client->status(), 500);
}

TEST_P(ExchangeLife, AReceiverCanBeWithdrawnAtAnyTimeAlsoInsideItsCall) {
    int alive = 0;
    struct Leaving final : Receiver {
        explicit Leaving(int* alive) : Receiver(nowhere, alive) {}
        void on_body(Exchange& exchange, ByteView bytes) override {
            exchange.withdraw_body();
            text += bytes;  // it is there still
        }
        std::string text;
    };
    bool inside = false;
    stage_.on("/take", [&](Exchange& exchange) {
        kept_ = exchange.defer();
        if (inside) {
            exchange.receive_body(std::make_unique<Leaving>(&alive), 100);
        } else {
            exchange.receive_body(std::make_unique<Receiver>(Receiver::nowhere, &alive), 100);
        }
    });
    for (const bool each : {false, true}) {
        inside = each;
        const auto client = connect();
        client->upload("/take", "abc");
        ASSERT_TRUE(run_until([&] { return static_cast<bool>(kept_); }));
        world_.settle();
        kept_->withdraw_body();
        EXPECT_EQ(alive, 0);
        client->say_rest("def");
        std::exchange(kept_, {})->respond_status(202);
        ASSERT_TRUE(run_until([&] { return client->complete(); }));
        EXPECT_EQ(client->status(), 202);
    }
    expect_others_served();
}

TEST_P(ExchangeLife, TheReceiverOfAnAbandonedRequestIsNotifiedAtOnce) {
    int alive = 0;
    stage_.on("/wait", [&](Exchange& exchange) { kept_ = exchange.defer(); });
    const auto client = connect();
    client->upload("/wait", "abc");
    ASSERT_TRUE(run_until([&] { return static_cast<bool>(kept_); }));
    client->peer().reset();
    ASSERT_TRUE(run_until([&] { return kept_->abandoned(); }));
    kept_->receive_body(std::make_unique<Receiver>(Receiver::failed, &alive), 100);
    EXPECT_EQ(alive, 0);
    expect_logged("a receiver");
}

TEST_P(ExchangeLife, MisuseIsLoggedAndIgnored) {
    stage_.on("/twice", [](Exchange& exchange) {
        exchange.respond_status(204);
        exchange.respond_status(404);
    });
    stage_.on("/late", [](Exchange& exchange) {
        exchange.respond_status(204);
        exchange.receive_body(std::make_unique<Receiver>(Receiver::nowhere), 100);
    });
    for (const auto& [path, why] :
         {std::pair{"/twice", "answered before"}, {"/late", "requested after the answer"}}) {
        const auto client = answered(path);
        EXPECT_EQ(client->status(), 204);
        expect_logged(why);
    }
}

// --- waiting exchanges -----------------------------------------------------------------------

class Waits : public ExchangeLife {
  protected:
    struct Counter final : AbandonObserver {
        void on_abandoned() override { ++told; }
        int told = 0;
    };

    Waits() {
        stage_.on("/wait", [this](Exchange& exchange) {
            kept_ = exchange.defer();
            exchange.observe(first_);
            exchange.observe(second_);
        });
    }
    std::unique_ptr<Client> waiting() {
        auto client = connect();
        client->ask("/wait");
        EXPECT_TRUE(run_until([&] { return static_cast<bool>(kept_); }));
        return client;
    }
    bool told() {
        return run_until([&] { return first_.told == 1 && second_.told == 1; }) &&
               kept_->abandoned();
    }

    Counter first_, second_;
};

INSTANTIATE_TEST_SUITE_P(Http, Waits, ::testing::Values(false, true),
                         [](const auto& http2) { return http2.param ? "h2" : "h1"; });

TEST_P(Waits, EveryObserverIsNotifiedOnceOfAReset) {
    const auto client = waiting();
    client->peer().reset();
    EXPECT_TRUE(told());
    kept_->set_deadline(world_.loop().now() + 5s);  // too late, and does nothing
    world_.advance(6s);
    EXPECT_EQ(first_.told, 1);
    EXPECT_FALSE(first_.linked());
}

TEST_P(Waits, ADestroyedObserverIsNotCalled) {
    const auto client = waiting();
    {
        Counter third;
        EXPECT_TRUE(kept_->observe(third));
    }
    second_.unlink();
    client->peer().reset();
    ASSERT_TRUE(run_until([&] { return first_.told == 1; }));
    EXPECT_EQ(second_.told, 0);
    Counter late;
    EXPECT_FALSE(kept_->observe(late));
    kept_->on_abandoned([] { FAIL() << "it was abandoned before"; });
}

TEST_P(Waits, AnAnswerReleasesObserversWithoutACall) {
    const auto client = waiting();
    std::exchange(kept_, {})->respond_status(204);
    ASSERT_TRUE(run_until([&] { return client->complete(); }));
    client->peer().reset();
    world_.settle();
    EXPECT_EQ(first_.told + second_.told, 0);
    EXPECT_FALSE(first_.linked());
}

// It may still read, or be gone: for a while we cannot know.
TEST_P(Waits, AClientThatEndedItsSideIsAnsweredInTime) {
    const auto client = waiting();
    client->peer().finish();
    world_.advance(29s);
    EXPECT_EQ(first_.told, 0);
    std::exchange(kept_, {})->respond_status(204);
    ASSERT_TRUE(run_until([&] { return client->complete() && client->peer().over(); }));
    EXPECT_EQ(client->status(), 204);
}

TEST_P(Waits, AClientThatEndedItsSideIsGivenUpInTheEnd) {
    const auto client = waiting();
    client->peer().finish();
    world_.advance(31s);
    EXPECT_TRUE(told());
    EXPECT_EQ(client->status(), 503);
    ASSERT_TRUE(run_until([&] { return stage_.server().size() == 0; }));
}

TEST_P(Waits, AHalfClosedClientIsServedWhileItsAnswerGrows) {
    struct Slow final : BodySource {
        State pull(core::BlockPool& blocks, core::SendQueue& out, std::size_t) override {
            if (done) return State::end;
            if (std::exchange(ready, false)) out.append(blocks, "x");
            return State::wait;
        }
        bool ready = true;
        bool done = false;
    };
    Slow* source = nullptr;
    stage_.on("/slow", [&](Exchange& exchange) {
        kept_ = exchange.defer();
        exchange.observe(first_);
        exchange.set_deadline(world_.loop().now() + 5s);  // and the answer begins before it
        auto made = std::make_unique<Slow>();
        source = made.get();
        Response response;
        response.set_body(std::move(made));
        exchange.respond(response);
    });
    const auto client = connect();
    client->ask("/slow");
    client->peer().finish();
    ASSERT_TRUE(run_until([&] { return client->status() == 200; }));
    kept_->set_deadline(world_.loop().now() + 5s);  // of an answer that has begun: none
    for (int i = 0; i < 6; ++i) {
        world_.advance(20s);
        ASSERT_EQ(first_.told, 0);
        source->ready = true;
        kept_->body_ready();
    }
    world_.advance(2min);
    EXPECT_EQ(first_.told, 1);
    EXPECT_TRUE(run_until([&] { return stage_.server().size() == 0; }));
}

TEST_P(Waits, ADeadlineIsAnsweredByItself) {
    const auto client = waiting();
    kept_->set_deadline(world_.loop().now() + 5s, 504);
    world_.advance(4s);
    EXPECT_EQ(client->status(), 0);
    world_.advance(2s);
    EXPECT_TRUE(told());
    ASSERT_TRUE(run_until([&] { return client->complete(); }));
    EXPECT_EQ(client->status(), 504);
    kept_->respond_status(200);  // does nothing
    kept_->set_deadline(world_.loop().now() + 5s);
    world_.advance(6s);
    expect_others_served();
}

TEST_P(Waits, ADeadlineEndsWithTheAnswerAndCanBeTakenBack) {
    const auto client = waiting();
    kept_->set_deadline(world_.loop().now() + 5s);
    kept_->set_deadline(Instant::max());
    world_.advance(10s);
    EXPECT_EQ(first_.told, 0);
    kept_->set_deadline(world_.loop().now() + 5s);
    std::exchange(kept_, {})->respond_status(204);
    world_.advance(10s);
    EXPECT_EQ(client->status(), 204);
    EXPECT_EQ(first_.told, 0);
    expect_others_served();
}

TEST_P(Waits, ADeadlineFailsTheBodyThatWasAwaited) {
    int alive = 0;
    stage_.on("/take", [&](Exchange& exchange) {
        kept_ = exchange.defer();
        exchange.receive_body(std::make_unique<Receiver>(Receiver::failed, &alive), 100);
        exchange.set_deadline(world_.loop().now() + 5s);
    });
    const auto client = connect();
    client->upload("/take", "abc");
    ASSERT_TRUE(run_until([&] { return alive == 1; }));
    world_.advance(6s);
    EXPECT_EQ(alive, 0);
    ASSERT_TRUE(run_until([&] { return client->complete(); }));
    EXPECT_EQ(client->status(), 503);
    expect_logged("a receiver");
}

TEST_P(Waits, AnObserverMayLetTheLastRefGo) {
    struct Releasing final : AbandonObserver {
        void on_abandoned() override { *kept = {}; }
        core::Ref<Exchange>* kept = nullptr;
    } releasing;
    releasing.kept = &kept_;
    const auto client = waiting();
    kept_->observe(releasing);
    client->peer().reset();
    EXPECT_TRUE(run_until([&] { return !kept_; }));
    EXPECT_EQ(first_.told, 1);
}

class WaitsOverH2 : public Waits {};
INSTANTIATE_TEST_SUITE_P(Http, WaitsOverH2, ::testing::Values(true),
                         [](const auto&) { return "h2"; });

TEST_P(WaitsOverH2, AResetStreamOrAbandonedConnectionIsReported) {
    const auto reset = waiting();
    reset->h2().reset(1);
    EXPECT_TRUE(told());
    kept_ = {};
    first_.told = second_.told = 0;
    const auto given_up = waiting();
    given_up->h2().frame(wire::H2FrameType::goaway, 0, 0, std::string("\0\0\0\0\0\0\0\2", 8));
    EXPECT_TRUE(told());
    kept_ = {};
    first_.told = second_.told = 0;
    const auto going = waiting();  // no error: it reads what is open
    going->h2().frame(wire::H2FrameType::goaway, 0, 0, std::string(8, '\0'));
    world_.settle();
    EXPECT_EQ(first_.told, 0);
    std::exchange(kept_, {})->respond_status(204);
    EXPECT_TRUE(run_until([&] { return going->complete(); }));
}

// A source that has nothing now, and a window that does not take what it had before.
TEST_P(WaitsOverH2, AWindowThatNeverOpensIsReported) {
    stage_.on("/source", [&](Exchange& exchange) {
        kept_ = exchange.defer();
        exchange.observe(first_);
        exchange.observe(second_);
        Response response;
        response.set_body(testing::pieces({std::string(100, 'x')}, BodySource::State::wait));
        exchange.respond(response);
    });
    const auto peer = stage_.connect();
    H2Client client(*peer, {{wire::H2SettingId::initial_window_size, 10}});
    client.get("/source");
    ASSERT_TRUE(run_until([&] { return client.answer(1).body.size() == 10; }));
    world_.advance(2min);
    EXPECT_TRUE(told());
    EXPECT_TRUE(client.answer(1).reset);
}

}  // namespace
}  // namespace tiderace::http
