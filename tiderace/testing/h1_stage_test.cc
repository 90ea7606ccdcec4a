#include "tiderace/testing/h1_stage.h"

#include <gtest/gtest.h>

#include "tiderace/testing/fake_world.h"

namespace tiderace::testing {
namespace {

TEST(H1Stage, DoesWhatWasWrittenForThePathAndKeepsTheLog) {
    FakeWorld world;
    H1Stage stage(world);
    stage.on("/hello", [](http::Exchange& exchange) {
        http::Response response;
        response.set_body("hello\n");
        exchange.respond(response);
    });
    const auto peer = stage.connect();
    peer->say("GET /hello HTTP/1.1\r\nHost: a\r\n\r\nGET /no HTTP/1.1\r\nHost: a\r\n\r\n");
    world.settle();
    EXPECT_EQ(stage.heard(*peer),
              "HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\nhello\n"
              "HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n");
    EXPECT_EQ(stage.served(), (std::vector<std::string>{"GET /hello", "GET /no"}));
    EXPECT_EQ(stage.logged(), (std::vector<Logged>{{"GET /hello", 200, 6}, {"GET /no", 404, 0}}));
}

TEST(H1Stage, ReceivesAWholeBodyAndSendsOneInPieces) {
    FakeWorld world;
    H1Stage stage(world);
    stage.on("/echo", [](http::Exchange& exchange) {
        receive_whole(exchange, 100, [](http::Exchange& done, const ReceivedBody& body) {
            http::Response response;
            response.set_body(pieces({body.bytes, "!"}), body.bytes.size() + 1);
            done.respond(response);
        });
    });
    const auto peer = stage.connect();
    peer->say("POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\n\r\nabc");
    world.settle();
    EXPECT_EQ(stage.heard(*peer), "HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nabc!");
}

}  // namespace
}  // namespace tiderace::testing
