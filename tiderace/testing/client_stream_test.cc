#include "tiderace/testing/client_stream.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tiderace/http/app/stream.h"
#include "tiderace/task/sleep.h"
#include "tiderace/testing/client.h"

namespace tiderace::testing {
namespace {

using http::App;
using http::Body;
using http::Events;
using task::Generator;

TEST(Stream, PiecesComeAsTimePasses) {
    App app;
    app.get<"/">([]() -> Generator<std::string> {
        co_yield "one,";
        co_yield "two,";
        co_await task::sleep(10s);
        co_yield "three";
    });
    Client client(app);
    Stream stream = client.open("/");
    EXPECT_EQ(stream.status(), 200);
    EXPECT_EQ(stream.header("Transfer-Encoding"), "chunked");
    EXPECT_EQ(stream.read(), "one,two,");
    EXPECT_EQ(stream.read(), "");
    EXPECT_FALSE(stream.ended());
    client.advance(9s);
    EXPECT_EQ(stream.read(), "");
    client.advance(1s);
    EXPECT_EQ(stream.read(), "three");
    EXPECT_TRUE(stream.ended());
    EXPECT_EQ(stream.fault(), "");
}

TEST(Stream, EventsComeOneByOne) {
    App app;
    app.get<"/">([]() -> Events {
        co_yield {.data = "a\nb", .event = "two", .id = "7"};
        co_yield {.comment = "alive"};
        co_yield {.data = ""};
        co_await task::sleep(1s);
        co_yield {.data = "last"};
    });
    Client client(app);
    Stream stream = client.open("/");
    EXPECT_EQ(stream.header("Content-Type"), "text/event-stream");
    auto event = stream.next_event();
    ASSERT_TRUE(event);
    EXPECT_EQ(event->data, "a\nb");
    EXPECT_EQ(event->event, "two");
    EXPECT_EQ(event->id, "7");
    event = stream.next_event();
    ASSERT_TRUE(event);
    EXPECT_EQ(event->data, "");
    EXPECT_EQ(event->event, "message");
    EXPECT_EQ(event->id, "7");
    EXPECT_FALSE(stream.next_event());
    client.advance(1s);
    EXPECT_FALSE(stream.ended());
    EXPECT_EQ(stream.next_event()->data, "last");
    EXPECT_FALSE(stream.next_event());
    EXPECT_TRUE(stream.ended());
}

TEST(Stream, AnEventStreamIsReadWithAnyLineEnds) {
    App app;
    app.get<"/">([]() -> Generator<std::string> {
        co_yield "data: 1\r\n\r\ndata:2\rdata\r";
        co_await task::sleep(1s);
        co_yield "\r\nid\ndata: 3\n\nevent: none\n\ndata: unfinished\n";
    });
    Client client(app);
    Stream stream = client.open("/");
    EXPECT_EQ(stream.next_event()->data, "1");
    EXPECT_FALSE(stream.next_event());
    client.advance(1s);
    EXPECT_EQ(stream.next_event()->data, "2\n");
    EXPECT_EQ(stream.next_event()->data, "3");
    EXPECT_FALSE(stream.next_event());
}

struct Made {
    int pieces = 0;
    int ended = 0;
};
struct CountsEnd {
    explicit CountsEnd(Made& m) : made(&m) {}
    ~CountsEnd() { ++made->ended; }
    Made* made;
};

TEST(Stream, OneThatIsNotReadSlowsItsMakerAndOneThatEndsEndsIt) {
    App app;
    Made* made = nullptr;
    app.state<Made>([&](core::EventLoop&) {
        auto state = std::make_unique<Made>();
        made = state.get();
        return state;
    });
    app.get<"/">([](Made& state) -> Generator<std::string> {
        const CountsEnd end(state);
        for (;;) {
            ++state.pieces;
            co_yield std::string(10'000, 'x');
        }
    });
    Client client(app);
    {
        Stream stream = client.open("/");
        client.advance(1s);
        const int before = made->pieces;
        EXPECT_LT(before, 1'000);
        client.advance(1s);
        EXPECT_EQ(made->pieces, before);
        EXPECT_EQ(stream.read().size(), Stream::read_bytes_max);
        std::size_t read = 0;
        while (read < 10'000'000) read += stream.read().size();
        EXPECT_GT(made->pieces, before);
        EXPECT_EQ(made->ended, 0);
    }
    client.advance(1s);
    EXPECT_EQ(made->ended, 1);
    EXPECT_EQ(client.connections(), 0U);
}

TEST(Stream, AnUploadIsWrittenPieceByPiece) {
    App app({.body_bytes_max = 20});
    app.post<"/">([](Body body) { return std::move(body).text(); });
    Client client(app);
    Stream upload = client.open_upload("POST", "/", "text/plain");
    EXPECT_EQ(upload.status(), 0);
    upload.write("one ");
    upload.write("");
    upload.write("two");
    EXPECT_EQ(upload.status(), 0);
    upload.finish();
    EXPECT_EQ(upload.status(), 200);
    EXPECT_EQ(upload.read(), "one two");
    EXPECT_TRUE(upload.ended());

    Stream large = client.open_upload("POST", "/", "text/plain");
    large.write(std::string(21, 'x'));
    EXPECT_EQ(large.status(), 413);

    Stream late = client.open_upload("POST", "/", "text/plain");
    late.write("x");
    for (int i = 0; i < 10 && late.status() == 0; ++i) client.advance(10s);
    EXPECT_EQ(late.status(), 408);
}

TEST(Stream, AnAnswerThatBreaksOffSaysSo) {
    App app;
    app.get<"/">([]() -> Generator<std::string> {
        co_yield "some";
        co_await task::sleep(1s);
        throw std::runtime_error("oh");
    });
    Client client(app);
    Stream stream = client.open("/");
    EXPECT_EQ(stream.read(), "some");
    EXPECT_EQ(stream.fault(), "");
    client.advance(1s);
    EXPECT_EQ(stream.fault(), "the connection ended inside an answer");
    EXPECT_FALSE(stream.ended());
    Stream closed = client.open("/");
    closed.close();
    EXPECT_EQ(closed.fault(), "the client closed the connection");
}

}  // namespace
}  // namespace tiderace::testing
