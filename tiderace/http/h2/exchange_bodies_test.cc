// Bodies that are made while they are sent, and windows that open while a body comes. On every
// engine.
#include "tiderace/testing/h2_fixture.h"

namespace tiderace::http {
namespace {

using testing::H2Client;
using testing::H2Stage;
using wire::H2Error;
using wire::H2SettingId;

// Hands out what the test put there, then ends if the test wants that.
struct Feed {
    std::string ready;
    bool over = false;
    int pulls = 0;
};

class FedSource final : public BodySource {
  public:
    explicit FedSource(Feed& feed) : feed_(&feed) {}

    State pull(core::BlockPool& blocks, core::SendQueue& out, std::size_t) override {
        ++feed_->pulls;
        out.append(blocks, std::exchange(feed_->ready, {}));
        return feed_->over ? State::end : State::wait;
    }

  private:
    Feed* feed_;
};

class H2Bodies : public testing::H2Test {
  protected:
    H2Bodies() {
        stage_->on("/fed", [this](Exchange& exchange) { answer_fed(exchange); });
    }
    void answer_fed(Exchange& exchange) {
        Response response;
        response.set_body(std::make_unique<FedSource>(feed_));
        kept_ = core::Ref<Exchange>(&exchange);
        exchange.respond(response);
    }
    void feed(std::string_view bytes, bool over = false) {
        feed_.ready += bytes;
        feed_.over = over;
        kept_->body_ready();
    }
    ~H2Bodies() override { kept_ = {}; }

    Feed feed_;
};

INSTANTIATE_TEST_SUITE_P(Worlds, H2Bodies, ::testing::ValuesIn(testing::main_world_names()),
                         [](const auto& world) { return testing::label_of_world(world.param); });

TEST_P(H2Bodies, AreAnnouncedByTheEndOfTheirHead) {
    std::string told;
    stage_->on("/told", [&](Exchange& exchange) {
        told += exchange.has_body() ? '1' : '0';
        exchange.respond_status(204);
    });
    H2Client& client = connect();
    client.get("/told");
    const auto empty = client.request("POST", "/told", {}, false);
    client.data(empty, "", true);
    const auto full = client.request("POST", "/told", {}, false);
    client.data(full, "abc", true);
    ASSERT_TRUE(ended(full));
    EXPECT_EQ(told, "011");
}

TEST_P(H2Bodies, ASourceThatWaitedGoesOnWhenItIsReady) {
    H2Client& client = connect();
    const auto stream = client.get("/fed");
    ASSERT_TRUE(run_until([&] { return client.answer(stream).status == 200; }));
    EXPECT_EQ(client.answer(stream).body, "");
    feed("one");
    ASSERT_TRUE(run_until([&] { return client.answer(stream).body == "one"; }));
    world_->settle();
    EXPECT_EQ(feed_.pulls, 2) << "while it waits it is left alone";
    feed(" two", true);
    ASSERT_TRUE(ended(stream));
    EXPECT_EQ(client.answer(stream).body, "one two");
    EXPECT_EQ(feed_.pulls, 3);
}

TEST_P(H2Bodies, NothingIsTakenFromASourceWhileTheWindowIsShut) {
    H2Client& client = connect({{H2SettingId::initial_window_size, 0}});
    feed_.ready = "some bytes";
    feed_.over = true;
    const auto stream = client.get("/fed");
    ASSERT_TRUE(run_until([&] { return client.answer(stream).status == 200; }));
    world_->settle();
    EXPECT_EQ(feed_.pulls, 0);
    client.window_update(stream, 4);
    ASSERT_TRUE(run_until([&] { return client.answer(stream).body == "some"; }));
    client.window_update(stream, 100);
    ASSERT_TRUE(ended(stream));
    EXPECT_EQ(client.answer(stream).body, "some bytes");
    EXPECT_EQ(feed_.pulls, 1);
}

TEST_P(H2Bodies, NothingIsTakenFromASourceWhileTheConnectionsWindowIsShut) {
    H2Client& client = connect({{H2SettingId::initial_window_size, 1 << 20}});
    const auto large = client.get("/large");
    ASSERT_TRUE(run_until([&] { return client.answer(large).body.size() == 65'535; }));
    feed_.ready = "some bytes";
    const auto stream = client.get("/fed");
    ASSERT_TRUE(run_until([&] { return client.answer(stream).status == 200; }));
    world_->settle();
    EXPECT_EQ(feed_.pulls, 0);
    client.window_update(0, 1 << 20);
    ASSERT_TRUE(run_until([&] { return client.answer(stream).body == "some bytes"; }));
    ASSERT_TRUE(ended(large));
    // Pulled once for the bytes, and once for more, which there were not.
    EXPECT_LE(feed_.pulls, 2);
    feed("", true);
    ASSERT_TRUE(ended(stream));
}

// It is first in line, and its own window is open.
TEST_P(H2Bodies, NothingIsTakenFromTheMostUrgentSourceEither) {
    H2Client& client = connect({{H2SettingId::initial_window_size, 1 << 20}});
    const auto large = client.get("/large");
    ASSERT_TRUE(run_until([&] { return client.answer(large).body.size() == 65'535; }));
    feed_.ready = "some bytes";
    const auto stream = client.get("/fed", {{"priority", "u=0"}});
    ASSERT_TRUE(run_until([&] { return client.answer(stream).status == 200; }));
    world_->settle();
    EXPECT_EQ(feed_.pulls, 0);
    client.window_update(0, 4);
    EXPECT_TRUE(run_until([&] { return client.answer(stream).body == "some"; }));
}

TEST_P(H2Bodies, ASourceWhoseWindowIsShutHoldsUpNoOther) {
    H2Client& client = connect({{H2SettingId::initial_window_size, 4}});
    feed_.ready = "some";
    const auto shut = client.get("/fed", {{"priority", "u=0"}});
    ASSERT_TRUE(run_until([&] { return client.answer(shut).body == "some"; }));
    feed("more");
    const auto other = client.get("/hello");
    client.window_update(other, 100);
    EXPECT_TRUE(ended(other));
    EXPECT_EQ(client.answer(shut).body, "some");
}

// A receiver that stops and goes on within its own call is not called inside that.
TEST_P(H2Bodies, AReceiverIsNotCalledWithinItself) {
    struct Receiver final : BodyReceiver {
        std::vector<std::string> calls;
        void on_body(Exchange& exchange, ByteView bytes) override {
            calls.push_back("<" + std::string(bytes));
            exchange.set_body_reading(false);
            exchange.set_body_reading(true);
            calls.emplace_back(">");
        }
        void on_body_end(Exchange& exchange) override {
            calls.emplace_back("end");
            exchange.respond_status(204);
        }
        void on_body_failed(Exchange&) override { calls.emplace_back("failed"); }
    } receiver;
    stage_->on("/again",
               [&](Exchange& exchange) { testing::receive_into(exchange, receiver, 100); });
    H2Client& client = connect();
    const auto stream = client.request("POST", "/again", {}, false);
    client.data(stream, "a", false);
    client.data(stream, "b", true);
    ASSERT_TRUE(ended(stream));
    EXPECT_EQ(receiver.calls, (std::vector<std::string>{"<a", ">", "<b", ">", "end"}));
}

TEST_P(H2Bodies, APieceWithoutBytesStopsNothingHoweverSmallTheWindow) {
    stage_->on("/pieces", [](Exchange& exchange) {
        Response response;
        response.set_body(testing::pieces({"", "x", "", ""}));
        exchange.respond(response);
    });
    for (const std::uint32_t window : {1U, 2U, 100U}) {
        H2Client& client = connect({{H2SettingId::initial_window_size, window}});
        const auto stream = client.get("/pieces");
        ASSERT_TRUE(run_until([&] { return client.answer(stream).body == "x"; })) << window;
        client.window_update(stream, 1);
        ASSERT_TRUE(ended(stream)) << window;
    }
}

TEST_P(H2Bodies, TrailersComeThroughThoughTheAnswerHasBegun) {
    testing::ReceivedBody received;
    stage_->on("/both", [&](Exchange& exchange) {
        testing::receive_whole(
            exchange, 100, [&](Exchange&, const testing::ReceivedBody& body) { received = body; });
        answer_fed(exchange);
    });
    H2Client& client = connect();
    const auto stream = client.request("POST", "/both", {}, false);
    client.data(stream, "body", false);
    ASSERT_TRUE(run_until([&] { return client.answer(stream).status == 200; }));
    client.headers(stream, {{"x-sum", "4"}}, true);
    ASSERT_TRUE(run_until([&] { return !received.trailers.empty(); }));
    EXPECT_EQ(received.bytes, "body");
    EXPECT_EQ(received.trailers[0].first, "x-sum");
    EXPECT_EQ(received.trailers[0].second, "4");
    feed("answer", true);
    ASSERT_TRUE(ended(stream));
    EXPECT_EQ(client.answer(stream).body, "answer");
    EXPECT_FALSE(client.answer(stream).reset);
}

// Our SETTINGS_MAX_HEADER_LIST_SIZE also holds for trailers; the receiver gets none of them.
TEST_P(H2Bodies, TrailersAboveTheMaximumResetTheirStream) {
    H2Client& client = connect();
    const std::size_t bytes_max = H2Stage::plain().head.list_bytes_max;
    const auto with = [&](std::size_t bytes) {
        const auto stream = client.request("POST", "/upload", {}, false);
        client.data(stream, "0123", false);
        // 7 of the name, and 32 for each field.
        client.headers(stream, {{"x-large", std::string(bytes - 39, 'x')}}, true);
        return stream;
    };
    const auto least_above = with(bytes_max + 1), most = with(bytes_max);
    ASSERT_TRUE(ended(most));
    EXPECT_EQ(client.answer(most).body, "0123|x-large=" + std::string(bytes_max - 39, 'x'));
    EXPECT_EQ(client.answer(least_above).reset, H2Error::protocol_error);
    EXPECT_EQ(client.answer(least_above).status, 0);
    EXPECT_FALSE(client.goaway());
}

TEST_P(H2Bodies, TheConnectionsWindowIsOpenedToItsSizeAtOnce) {
    H2Client& client = connect();
    ASSERT_TRUE(ended(client.get("/hello")));
    EXPECT_EQ(65'535 + client.given_back(0), H2Stage::plain().window_bytes);
    H2Options options = H2Stage::plain();
    options.window_bytes = 65'536;
    start(options);
    H2Client& other = connect();
    ASSERT_TRUE(ended(other.get("/hello")));
    EXPECT_EQ(other.given_back(0), 1U);
}

// Half the window is given back in one go, and the byte that makes it half may be any frame's.
TEST_P(H2Bodies, FramesOfAByteAreGivenBackToo) {
    H2Options options = H2Stage::plain();
    options.window_bytes = 65'535;
    options.stream_window_bytes = 65'535;
    start(options);
    stage_->on("/sink", [&](Exchange& exchange) {
        testing::receive_whole(
            exchange, 1'000'000,
            [](Exchange& each, const testing::ReceivedBody&) { each.respond_status(204); });
    });
    H2Client& client = connect();
    const auto stream = client.request("POST", "/sink", {}, false);
    client.data(stream, std::string(32'766, 'x'), false);
    ASSERT_TRUE(ended(client.get("/hello")));
    EXPECT_EQ(client.given_back(0), 0U) << "also no WINDOW_UPDATE of nothing";
    client.data(stream, "x", false);
    ASSERT_TRUE(run_until([&] { return client.given_back(0) > 0; }));
    EXPECT_EQ(client.given_back(0), 32'767U);
    EXPECT_EQ(client.given_back(stream), 32'767U);
    client.data(stream, "", true);
    ASSERT_TRUE(ended(stream));
    EXPECT_EQ(client.answer(stream).status, 204);
}

TEST_P(H2Bodies, AnEmptyBodyHasNoFrameAndOneByteHas) {
    for (const std::string body : {"", "x"}) {
        stage_->on("/text" + body, [body](Exchange& exchange) {
            Response response;
            response.set_body(body);
            exchange.respond(response);
        });
    }
    H2Client& client = connect();
    const auto none = client.get("/text"), one = client.get("/textx");
    ASSERT_TRUE(ended(none) && ended(one));
    EXPECT_EQ(client.answer(none).frames, 0U);
    EXPECT_EQ(client.answer(none).header("content-length"), "0");
    EXPECT_EQ(client.answer(one).body, "x");
    EXPECT_EQ(client.answer(one).header("content-length"), "1");
}

TEST_P(H2Bodies, ThePathAndTheQueryAreApart) {
    H2Client& client = connect();
    const auto plain = client.get("/echo"), empty = client.get("/echo?"),
               full = client.get("/echo?a=1?b");
    ASSERT_TRUE(ended(plain) && ended(empty) && ended(full));
    EXPECT_TRUE(client.answer(plain).body.starts_with("/echo  ")) << client.answer(plain).body;
    EXPECT_TRUE(client.answer(empty).body.starts_with("/echo  ")) << client.answer(empty).body;
    EXPECT_TRUE(client.answer(full).body.starts_with("/echo a=1?b ")) << client.answer(full).body;
}

TEST_P(H2Bodies, ARequestInTheClearIsNotCalledSecure) {
    std::optional<bool> secure;
    stage_->on("/secure", [&](Exchange& exchange) {
        secure = exchange.request().secure;
        EXPECT_EQ(exchange.request().security, nullptr);
        EXPECT_EQ(exchange.request().version, HttpVersion::http_2);
        exchange.respond_status(204);
    });
    H2Client& client = connect();
    ASSERT_TRUE(ended(client.get("/secure")));
    EXPECT_EQ(secure, false);
}

TEST_P(H2Bodies, AStatusThatEndsNoStreamIsAFaultOfTheHandler) {
    H2Client& client = connect();
    for (const int status : {100, 101, 103, 199}) {
        stage_->on("/interim", [status](Exchange& exchange) {
            Response response(status);
            exchange.respond(response);
        });
        const auto stream = client.get("/interim");
        ASSERT_TRUE(ended(stream));
        EXPECT_EQ(client.answer(stream).status, 500) << status;
    }
}

TEST_P(H2Bodies, AnUnwantedBodyIsDroppedUpToTheLimit) {
    H2Options options = H2Stage::plain();
    options.body_bytes_max = 10;
    start(options);
    H2Client& client = connect();
    const auto stream = client.request("POST", "/hello", {}, false);
    ASSERT_TRUE(ended(stream));
    client.data(stream, "0123456789", false);
    world_->settle();
    EXPECT_FALSE(client.answer(stream).reset);
    client.data(stream, "a", false);
    ASSERT_TRUE(reset(stream));
    EXPECT_EQ(client.answer(stream).reset, H2Error::no_error);
    options.body_bytes_max = 0;
    start(options);
    H2Client& other = connect();
    const auto none = other.request("POST", "/hello", {}, false);
    ASSERT_TRUE(ended(none));
    other.data(none, "", true);
    ASSERT_TRUE(ended(other.get("/hello")));
    EXPECT_FALSE(other.answer(none).reset);
}

TEST_P(H2Bodies, ASourceOfMoreThanItsLengthSendsNoneOfThePieceThatIsTooMuch) {
    stage_->on("/more", [](Exchange& exchange) {
        Response response;
        response.set_body(testing::pieces({"one", "long", "xy"}), 5);  // two of them would fit
        exchange.respond(response);
    });
    stage_->on("/exact", [](Exchange& exchange) {
        Response response;
        response.set_body(testing::pieces({"one", "two"}), 6);
        exchange.respond(response);
    });
    H2Client& client = connect();
    const auto more = client.get("/more"), exact = client.get("/exact");
    ASSERT_TRUE(reset(more));
    EXPECT_EQ(client.answer(more).reset, H2Error::internal_error);
    EXPECT_EQ(client.answer(more).body, "one");
    EXPECT_FALSE(client.answer(more).ended);
    ASSERT_TRUE(ended(exact));
    EXPECT_EQ(client.answer(exact).body, "onetwo");
}

// Its handler may keep the exchange for as long as it likes.
TEST_P(H2Bodies, ASourceEndsWithItsStream) {
    struct Held final : BodySource {
        explicit Held(bool& gone) : gone_(&gone) {}
        ~Held() override { *gone_ = true; }
        State pull(core::BlockPool&, core::SendQueue&, std::size_t) override { return State::wait; }
        bool* gone_;
    };
    bool gone = false;
    stage_->on("/held", [&](Exchange& exchange) {
        kept_ = core::Ref<Exchange>(&exchange);
        Response response;
        response.set_body(std::make_unique<Held>(gone));
        exchange.respond(response);
    });
    H2Client& client = connect();
    const auto stream = client.get("/held");
    ASSERT_TRUE(run_until([&] { return client.answer(stream).status == 200; }));
    EXPECT_FALSE(gone);
    client.reset(stream);
    EXPECT_TRUE(run_until([&] { return gone; }));
    kept_->body_ready();  // does nothing
    world_->settle();
}

TEST_P(H2Bodies, TwoSourcesMayGetReadyInOneTurn) {
    std::vector<core::Ref<Exchange>> kept;
    Feed feeds[2];
    stage_->on("/each", [&](Exchange& exchange) {
        Response response;
        response.set_body(std::make_unique<FedSource>(feeds[kept.size()]));
        kept.push_back(core::Ref<Exchange>(&exchange));
        exchange.respond(response);
    });
    H2Client& client = connect();
    const auto first = client.get("/each"), second = client.get("/each");
    ASSERT_TRUE(run_until([&] { return client.answer(second).status == 200; }));
    world_->loop().post([&] {
        for (std::size_t i = 0; i < 2; ++i) {
            feeds[i] = {.ready = "ready", .over = true, .pulls = 0};
            kept[i]->body_ready();
        }
    });
    ASSERT_TRUE(ended(first) && ended(second));
    EXPECT_EQ(client.answer(first).body, "ready");
    EXPECT_EQ(client.answer(second).body, "ready");
    kept.clear();
}

// The turn that would send it is the one in which the connection ends.
TEST_P(H2Bodies, ASourceThatGetsReadyWhileItsConnectionEndsHarmsNothing) {
    H2Client& client = connect();
    const auto stream = client.get("/fed");
    ASSERT_TRUE(run_until([&] { return client.answer(stream).status == 200; }));
    world_->loop().post([&] {
        feed("late", true);
        stage_->server().abort_all();
    });
    ASSERT_TRUE(run_until([&] { return stage_->server().size() == 0; }));
    kept_ = {};
    H2Client& other = connect();
    EXPECT_TRUE(ended(other.get("/hello")));
}

// One exchange after the other serves them all.
TEST_P(H2Bodies, NothingOfARequestIsInTheNextOnesLine) {
    H2Client& client = connect();
    ASSERT_TRUE(ended(client.get("/hello?secret")));
    ASSERT_TRUE(ended(client.get("/bad-field")));
    const auto bad = client.get("/a%00b");
    ASSERT_TRUE(ended(bad));
    ASSERT_TRUE(ended(client.get("/empty")));
    ASSERT_TRUE(ended(client.request("HEAD", "/hello", {}, true)));
    ASSERT_TRUE(ended(client.get("/hello")));
    const auto kept = client.get("/kept");
    ASSERT_TRUE(run_until([&] { return static_cast<bool>(kept_); }));
    client.reset(kept);  // no answer, no line
    const std::string bad_bytes = client.answer(bad).body;
    ASSERT_TRUE(ended(client.get("/hello")));
    using testing::Logged;
    EXPECT_EQ(stage_->stage().logged(), (std::vector<Logged>{{"GET /hello?secret", 200, 6},
                                                             {"GET /bad-field", 500, 0},
                                                             {"GET /a%00b", 400, bad_bytes.size()},
                                                             {"GET /empty", 204, 0},
                                                             {"HEAD /hello", 200, 0},
                                                             {"GET /hello", 200, 6},
                                                             {"GET /hello", 200, 6}}));
}

// The flags of a request whose body was paused, refused or awaited are not the next one's.
TEST_P(H2Bodies, ARequestIsReadWhateverBecameOfTheOneBefore) {
    stage_->on("/pausing", [](Exchange& exchange) {
        testing::receive_whole(exchange, 100, [](Exchange&, const testing::ReceivedBody&) {});
        exchange.set_body_reading(false);
    });
    stage_->on("/waiting", [this](Exchange& exchange) {
        Response response;
        response.set_body(std::make_unique<FedSource>(feed_));
        exchange.respond(response);
    });
    H2Client& client = connect();
    const auto upload = [&] {
        const auto stream = client.request("POST", "/upload", {}, false);
        client.data(stream, "some bytes", true);
        EXPECT_TRUE(ended(stream));
        EXPECT_EQ(client.answer(stream).body, "some bytes");
        const auto known = client.get("/known");  // from a source
        EXPECT_TRUE(ended(known));
        EXPECT_EQ(client.answer(known).body, "0123456789");
    };
    const auto paused = client.request("POST", "/pausing", {}, false);
    client.data(paused, "held", false);
    client.headers(paused, {{"x-trailer", "1"}}, true);
    client.reset(paused);
    upload();
    const auto waiting = client.get("/waiting");
    ASSERT_TRUE(run_until([&] { return client.answer(waiting).status == 200; }));
    client.reset(waiting);
    upload();
    const auto large = client.request("POST", "/upload", {{"content-length", "101"}}, false);
    ASSERT_TRUE(reset(large));  // refused
    upload();
    const auto expecting = client.request(
        "POST", "/kept", {{"expect", "100-continue"}, {"content-length", "3"}}, false);
    ASSERT_TRUE(run_until([&] { return static_cast<bool>(kept_); }));
    kept_ = {};
    client.reset(expecting);
    upload();
    EXPECT_FALSE(client.goaway());
}

// A dropped body has the connection's limit, and a receiver's body its own.
TEST_P(H2Bodies, AnAnnouncedBodyIsDroppedUpToTheLimit) {
    H2Options options = H2Stage::plain();
    options.body_bytes_max = 10;
    start(options);
    H2Client& client = connect();
    const auto least_above = client.request("POST", "/hello", {{"content-length", "11"}}, false);
    const auto most = client.request("POST", "/hello", {{"content-length", "10"}}, false);
    ASSERT_TRUE(reset(least_above));
    EXPECT_EQ(client.answer(least_above).reset, H2Error::no_error);
    client.data(most, "0123456789", true);
    ASSERT_TRUE(ended(client.get("/hello")));
    EXPECT_FALSE(client.answer(most).reset);
    // The receiver takes up to its own limit.
    const auto upload = client.request("POST", "/upload", {}, false);
    client.data(upload, std::string(100, 'x'), true);
    ASSERT_TRUE(ended(upload));
    EXPECT_EQ(client.answer(upload).status, 200);
    const auto announced = client.request("POST", "/upload", {{"content-length", "100"}}, false);
    client.data(announced, std::string(100, 'x'), true);
    ASSERT_TRUE(ended(announced));
    EXPECT_EQ(client.answer(announced).status, 200);
}

TEST_P(H2Bodies, TheHostIsThatOfTheRequestLineOrElseOfTheField) {
    std::vector<std::string> hosts;
    std::vector<bool> queries;
    stage_->on("/host", [&](Exchange& exchange) {
        hosts.emplace_back(exchange.request().authority);
        queries.push_back(exchange.request().has_query);
        exchange.respond_status(204);
    });
    H2Client& client = connect();
    client.headers(1,
                   {{":method", "GET"},
                    {":scheme", "http"},
                    {":path", "/host?"},
                    {":authority", "one.example"}},
                   true);
    ASSERT_TRUE(ended(1));
    client.headers(
        3, {{":method", "GET"}, {":scheme", "http"}, {":path", "/host"}, {"host", "two.example"}},
        true);
    ASSERT_TRUE(ended(3));
    EXPECT_EQ(hosts, (std::vector<std::string>{"one.example", "two.example"}));
    EXPECT_EQ(queries, (std::vector<bool>{true, false}));
}

// Its handler may hold it for much longer.
TEST_P(H2Bodies, AnExchangeThatIsCompleteHoldsNoCallbacks) {
    stage_->on("/observed", [&](Exchange& exchange) { kept_ = exchange.defer(); });
    H2Client& client = connect();
    const auto stream = client.get("/observed");
    ASSERT_TRUE(run_until([&] { return static_cast<bool>(kept_); }));
    auto held = std::make_shared<int>(1);
    const std::weak_ptr<int> seen = held;
    kept_->on_abandoned([held = std::move(held)] {});
    EXPECT_FALSE(seen.expired());
    kept_->respond_status(204);
    ASSERT_TRUE(ended(stream));
    EXPECT_TRUE(seen.expired());
    EXPECT_FALSE(kept_->abandoned());
}

}  // namespace
}  // namespace tiderace::http
