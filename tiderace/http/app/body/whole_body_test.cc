#include "tiderace/http/app/body/whole_body.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "tiderace/http/app/app_fixture.h"
#include "tiderace/http/app/ready_middleware.h"
#include "tiderace/testing/h2_client.h"

namespace tiderace::http {
namespace {

class WholeBodyTest : public AppTest {
  protected:
    WholeBodyTest() {
        app = App({.body_bytes_max = 20'000, .bodies_bytes_max = 100'000});
        app.post<"/size">([](Body body) { return std::to_string(body.text().size()); });
        app.post<"/later">([](Body body) -> task::Task<std::string> {
            co_await task::sleep(1s);
            co_return std::to_string(body.text().size());
        });
    }
    static std::string head(std::string_view path, std::size_t bytes) {
        return "POST " + std::string(path) +
               " HTTP/1.1\r\nHost: a\r\nContent-Length: " + std::to_string(bytes) + "\r\n\r\n";
    }
};

TEST_F(WholeBodyTest, ThoseThatHoldTheMostMakeRoomTheOldestFirst) {
    std::vector<std::unique_ptr<testing::Peer>> slow;
    for (int i = 0; i < 8; ++i) {
        slow.push_back(connect());
        slow.back()->say(head("/size", 20'000) + std::string(15'000, 'x'));
        world.settle();
        // One that holds little is not in the way.
        EXPECT_EQ(body_of(ask("POST", "/size", "", "small")), "5") << i;
    }
    std::string statuses;
    for (const auto& peer : slow) {
        const std::string heard = peer->heard();
        statuses += heard.empty() ? "- " : status_of(heard) + " ";
        if (!heard.empty()) {
            EXPECT_NE(heard.find("\r\nRetry-After: 2\r\n"), std::string::npos) << heard;
        }
    }
    EXPECT_EQ(statuses, "503 503 - - - - - - ");
    for (std::size_t i = 2; i < slow.size(); ++i) {
        slow[i]->say(std::string(5'000, 'x'));
        world.settle();
        EXPECT_EQ(body_of(slow[i]->heard()), "20000") << i;
    }
}

TEST_F(WholeBodyTest, OverHttp2TheyAreOneBoundToo) {
    auto peer = connect();
    testing::H2Client client(*peer);
    std::vector<std::uint32_t> streams;
    for (int i = 0; i < 12; ++i) {
        streams.push_back(client.request("POST", "/size", {}, false));
        client.data(streams.back(), std::string(15'000, 'x'), false);
        world.settle();
    }
    int refused = 0;
    for (const auto stream : streams) {
        if (client.answer(stream).status == 503) {
            ++refused;
            continue;
        }
        client.data(stream, "y", true);
        world.settle();
        EXPECT_EQ(client.answer(stream).body, "15001");
    }
    EXPECT_EQ(refused, 6);
}

TEST_F(WholeBodyTest, ARouteMayHaveALargerLimit) {
    app.post<"/large">([](Body body) { return std::to_string(body.text().size()); },
                       body_limit(150'000));
    EXPECT_EQ(body_of(ask("POST", "/large", "", std::string(150'000, 'x'))), "150000");
    auto first = connect();
    first->say(head("/large", 150'000) + std::string(140'000, 'x'));
    world.settle();
    EXPECT_EQ(body_of(ask("POST", "/size", "", std::string(9'000, 'x'))), "9000");
    EXPECT_EQ(first->heard(), "");
    auto second = connect();
    second->say(head("/large", 150'000) + std::string(140'000, 'x'));
    world.settle();
    EXPECT_EQ(status_of(first->heard()), "503");
    second->say(std::string(10'000, 'x'));
    world.settle();
    EXPECT_EQ(body_of(second->heard()), "150000");
}

TEST_F(WholeBodyTest, WhatIsWholeOrGoneHoldsNothing) {
    for (int i = 0; i < 20; ++i) {
        auto peer = connect();
        peer->say(head("/later", 20'000) + std::string(20'000, 'x'));
        world.settle();
        auto gone = connect();
        gone->say(head("/size", 20'000) + std::string(15'000, 'x'));
        world.settle();
        gone->reset();
        world.settle();
        EXPECT_EQ(peer->heard(), "");
        world.advance(1s);
        EXPECT_EQ(body_of(peer->heard()), "20000") << i;
    }
}

}  // namespace
}  // namespace tiderace::http
