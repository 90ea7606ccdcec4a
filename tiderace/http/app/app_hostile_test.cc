// Input that is meant to harm, through all of a server: each gets its status, and what comes after
// it is served.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <string>

#include "tiderace/http/app/app_fixture.h"
#include "tiderace/http/app/body_stream.h"
#include "tiderace/http/app/cookies.h"
#include "tiderace/http/app/form.h"
#include "tiderace/http/app/multipart.h"
#include "tiderace/testing/h2_client.h"

namespace tiderace::http {
namespace {

struct Purchase {
    std::string item;
    int count;
};

class HostileInput : public AppTest {
  protected:
    static constexpr std::size_t limit = 20'000;

    HostileInput() {
        app = App({.body_bytes_max = limit});
        app.get<"/fine">([] { return "fine"; });
        app.post<"/body">([](Body body) { return std::to_string(body.text().size()); });
        app.post<"/later">([](Body body) -> task::Task<std::string> {
            co_await task::yield();
            co_return std::to_string(body.text().size());
        });
        app.post<"/json">([](Json<Purchase> order) { return order->item; });
        app.post<"/form">([](Form<Purchase> order) { return order->item; });
        app.post<"/stream">([](BodyStream body) -> task::Task<std::string> {
            std::size_t bytes = 0;
            while (auto piece = co_await body.next()) bytes += piece->size();
            co_return std::to_string(bytes);
        });
        app.post<"/parts">([](Multipart form) -> task::Task<std::string> {
            std::size_t bytes = 0;
            while (auto part = co_await form.next()) {
                while (auto piece = co_await form.read()) bytes += piece->size();
            }
            co_return std::to_string(bytes);
        });
        app.get<"/cookies">([](Cookies cookies) {
            std::size_t count = 0;
            cookies.each([&](std::string_view, std::string_view) { ++count; });
            return std::to_string(count) + std::string(cookies.get("id").value_or("-"));
        });
    }
    void TearDown() override { EXPECT_EQ(body_of(get("/fine")), "fine"); }

    std::string json(std::string_view text) {
        return status_of(ask("POST", "/json", "Content-Type: application/json\r\n", text));
    }
    // The status of an upload without a length, as many bytes at a time.
    std::string chunked(std::string_view path, std::string_view type, std::string_view body,
                        std::size_t piece) {
        auto peer = connect();
        peer->say("POST " + std::string(path) + " HTTP/1.1\r\nHost: a\r\nConnection: close\r\n" +
                  "Content-Type: " + std::string(type) + "\r\nTransfer-Encoding: chunked\r\n\r\n");
        for (std::size_t at = 0; at < body.size() && !peer->over(); at += piece) {
            const std::size_t bytes = std::min(piece, body.size() - at);
            char size[20];
            std::snprintf(size, sizeof size, "%zx\r\n", bytes);
            peer->say(std::string(size) + std::string(body.substr(at, bytes)) + "\r\n");
            world.settle();
        }
        if (!peer->over()) peer->say("0\r\n\r\n");
        EXPECT_TRUE(world.run_until([&] { return peer->over(); })) << path;
        return status_of(peer->heard());
    }
};

TEST_F(HostileInput, ABodyAboveItsLimitIs413AtEveryReader) {
    const std::string start = "--XX\r\nContent-Disposition: form-data; name=a\r\n\r\n";
    const std::string end = "\r\n--XX--\r\n";
    const auto text = [](std::size_t bytes, std::string begin, const std::string& behind) {
        begin.append(bytes - begin.size() - behind.size(), 'x');
        return begin + behind;
    };
    const struct {
        std::string path;
        std::string type;
        std::string begin;
        std::string behind;
    } readers[] = {
        {"/body", "text/plain", "", ""},
        {"/later", "text/plain", "", ""},
        {"/json", "application/json", "{\"count\":1,\"item\":\"", "\"}"},
        {"/form", "application/x-www-form-urlencoded", "count=1&item=", ""},
        {"/stream", "text/plain", "", ""},
        {"/parts", "multipart/form-data; boundary=XX", start, end},
    };
    for (const auto& reader : readers) {
        const std::string type = "Content-Type: " + reader.type + "\r\n";
        const std::string most = text(limit, reader.begin, reader.behind);
        const std::string more = text(limit + 1, reader.begin, reader.behind);
        EXPECT_EQ(status_of(ask("POST", reader.path, type, most)), "200") << reader.path;
        EXPECT_EQ(status_of(ask("POST", reader.path, type, more)), "413") << reader.path;
        for (const std::size_t piece : {std::size_t{777}, limit, limit + 1}) {
            EXPECT_EQ(chunked(reader.path, reader.type, most, piece), "200") << reader.path;
            EXPECT_EQ(chunked(reader.path, reader.type, more, piece), "413") << reader.path;
        }
    }
}

// As over HTTP/1.1, with the length said or not.
TEST_F(HostileInput, ABodyAboveItsLimitIs413OverHttp2) {
    const std::pair<const char*, const char*> readers[] = {
        {"/body", "text/plain"},       {"/later", "text/plain"},
        {"/json", "application/json"}, {"/form", "application/x-www-form-urlencoded"},
        {"/stream", "text/plain"},     {"/parts", "multipart/form-data; boundary=XX"},
    };
    std::string body = "--XX\r\nContent-Disposition: form-data; name=a\r\n\r\n";
    body.resize(limit + 1, 'x');
    for (const auto& [path, type] : readers) {
        for (const bool says_length : {true, false}) {
            auto peer = connect();
            testing::H2Client client(*peer);
            testing::H2Client::Fields fields = {{"content-type", type}};
            if (says_length) fields.emplace_back("content-length", std::to_string(body.size()));
            const auto stream = client.request("POST", path, fields, false);
            world.settle();
            // Within the first window, in several frames.
            for (std::size_t at = 0; at < body.size(); at += 7'000) {
                if (client.answer(stream).status != 0) break;
                client.data(stream, body.substr(at, 7'000), at + 7'000 >= body.size());
                world.settle();
            }
            EXPECT_EQ(client.answer(stream).status, 413) << path << says_length;
            const auto next = client.get("/fine");
            world.settle();
            EXPECT_EQ(client.answer(next).body, "fine") << path << says_length;
        }
    }
}

TEST_F(HostileInput, JsonIsRefusedByItsKindOfFault) {
    EXPECT_EQ(json(R"({"item":"tea","count":1})"), "200");
    EXPECT_EQ(json(std::string(10'000, '[')), "400");
    EXPECT_EQ(json(std::string(10'000, '[') + std::string(10'000, ']')), "400");
    EXPECT_EQ(json(R"({"item":"tea","count":1,"count":2})"), "422") << "a key twice";
    EXPECT_EQ(json(R"({"item":"tea","count":1,"\u0063ount":2})"), "422") << "… by another spelling";
    EXPECT_EQ(json(R"({"item":"\ud800","count":1})"), "400") << "half of a surrogate pair";
    EXPECT_EQ(json(R"({"item":"\udc00\ud800","count":1})"), "400");
    EXPECT_EQ(json("{\"item\":\"\xED\xA0\x80\",\"count\":1}"), "400") << "… in UTF-8";
    EXPECT_EQ(json("{\"item\":\"\xC0\xAF\",\"count\":1}"), "400");
    EXPECT_EQ(json(R"({"item":"tea","count":1e400})"), "400");
    EXPECT_EQ(json(R"({"item":"tea","count":1e30})"), "422");
    EXPECT_EQ(json(R"({"item":"tea","count":1}{)"), "400");
    std::string many = "{";
    for (int i = 0; i < 1'000; ++i) many += "\"k" + std::to_string(i) + "\":0,";
    const std::string answer = ask("POST", "/json", "Content-Type: application/json\r\n",
                                   many + "\"item\":\"tea\",\"count\":1}");
    EXPECT_EQ(status_of(answer), "422");
    EXPECT_LT(answer.size(), 4'000U) << "no more faults are named than the limit";
}

TEST_F(HostileInput, CookiesAreSkippedOrTheirHeadIsRefused) {
    const auto cookies = [&](const std::string& value) {
        return ask("GET", "/cookies", "Cookie: " + value + "\r\n");
    };
    EXPECT_EQ(body_of(cookies("id=7; a=1")), "27");
    EXPECT_EQ(body_of(cookies("id=\"7; a=1")), "1-") << "a quote that never ends";
    EXPECT_EQ(body_of(cookies("=; ;;;=;id; id =7;id=7,8")), "0-");
    EXPECT_EQ(body_of(cookies(std::string(6'000, ';') + "id=7")), "17");
    std::string many;
    for (int i = 0; i < 2'000; ++i) many += "a=" + std::to_string(i % 10) + ";";
    EXPECT_EQ(body_of(cookies(many + "id=7")), "20017");
    EXPECT_EQ(status_of(cookies("id=" + std::string(100'000, 'x'))), "431");
    EXPECT_EQ(status_of(cookies(std::string("id=\0", 4))), "400");
    EXPECT_EQ(status_of(cookies("id=7\rSet-Cookie: a=1")), "400");
    std::string lines;
    for (int i = 0; i < 10'000; ++i) lines += "Cookie: a=1\r\n";
    EXPECT_EQ(status_of(ask("GET", "/cookies", lines)), "431");
}

}  // namespace
}  // namespace tiderace::http
