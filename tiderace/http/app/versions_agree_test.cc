// One handler, asked over HTTP/1.1 and over HTTP/2: both clients get the same answer.
#include <gtest/gtest.h>

#include <algorithm>
#include <cctype>
#include <map>
#include <string>

#include "tiderace/http/app/app_fixture.h"
#include "tiderace/http/app/stream.h"
#include "tiderace/testing/h2_client.h"

namespace tiderace::http {
namespace {

struct Seen {
    int status = 0;
    std::multimap<std::string, std::string> fields;
    std::string body;
};

std::string lower(std::string text) {
    std::ranges::transform(text, text.begin(), [](unsigned char c) { return std::tolower(c); });
    return text;
}

class VersionsAgree : public AppTest {
  protected:
    VersionsAgree() {
        app.get<"/text">([] { return "hello\n"; });
        app.get<"/large">([] { return std::string(200'000, 'x'); });
        app.get<"/json">([] { return std::vector<int>{1, 2}; });
        app.get<"/nothing">([] {});
        app.get<"/none">([]() -> std::optional<std::string> { return std::nullopt; });
        app.get<"/redirect">([] { return Redirect{"/there"}; });
        app.get<"/throws">([]() -> std::string { throw std::runtime_error("on purpose"); });
        app.get<"/pieces">([]() -> task::Generator<std::string> {
            co_yield "one ";
            co_await task::sleep(1s);
            co_yield "two";
        });
        app.get<"/no-pieces">([]() -> task::Generator<std::string> { co_return; });
        app.get<"/status/{code}">([](int code) { return Response(code).text("a body"); });
        app.get<"/field/{which}">([](int which) {
            static const std::pair<const char*, const char*> all[] = {
                {"Content-Length", "3"},
                {"Transfer-Encoding", "chunked"},
                {"Connection", "upgrade"},
                {"Keep-Alive", "timeout=5"},
                {"Proxy-Connection", "keep-alive"},
                {"Upgrade", "h2c"},
                {"TE", "trailers"},
                {"Date", "never"},
                {"Server", "mine"},
                {"X-A", "a\r\nX-B: b"},
                {"X-A: b", "c"},
                {"X-Empty", ""},
                {"X-Bytes", "\xC3\xA9\xFF"},
                {"Set-Cookie", "a=1"},
            };
            return Response().header(all[which].first, all[which].second).text("a body");
        });
    }

    Seen over_http1(const std::string& method, const std::string& path) {
        const std::string answer = ask(method, path);
        Seen seen;
        seen.status = std::stoi(status_of(answer));
        const std::size_t end = answer.find("\r\n\r\n");
        for (std::size_t at = answer.find("\r\n") + 2; at < end;) {
            const std::size_t colon = answer.find(": ", at);
            const std::size_t next = answer.find("\r\n", at);
            seen.fields.emplace(lower(answer.substr(at, colon - at)),
                                answer.substr(colon + 2, next - colon - 2));
            at = next + 2;
        }
        // About the connection, which HTTP/2 has its frames for (RFC 9113, 8.2.2).
        for (const char* name : {"connection", "upgrade", "te", "proxy-connection"}) {
            seen.fields.erase(name);
        }
        const bool chunked = seen.fields.erase("transfer-encoding") > 0;
        seen.body = chunked ? unchunked(answer.substr(end + 4)) : answer.substr(end + 4);
        return seen;
    }
    Seen over_http2(const std::string& method, const std::string& path) {
        auto peer = connect();
        testing::H2Client client(*peer, {{wire::H2SettingId::initial_window_size, 1'000'000}});
        client.window_update(0, 1'000'000);
        const auto stream = client.request(method, path, {}, true);
        EXPECT_TRUE(world.run_until([&] { return client.answer(stream).ended; })) << path;
        Seen seen{.status = client.answer(stream).status, .body = client.answer(stream).body};
        for (const auto& [name, value] : client.answer(stream).fields) {
            if (name != "date" && !name.starts_with(':')) seen.fields.emplace(name, value);
        }
        return seen;
    }
    static std::string unchunked(std::string_view body) {
        std::string whole;
        while (true) {
            const std::size_t line = body.find("\r\n");
            const std::size_t bytes = std::stoul(std::string(body.substr(0, line)), nullptr, 16);
            if (bytes == 0) return whole;
            whole += body.substr(line + 2, bytes);
            body.remove_prefix(line + 2 + bytes + 2);
        }
    }
    void expect_same(const std::string& path) {
        for (const char* method : {"GET", "HEAD", "OPTIONS", "DELETE"}) {
            const Seen first = over_http1(method, path);
            const Seen second = over_http2(method, path);
            EXPECT_EQ(first.status, second.status) << method << ' ' << path;
            EXPECT_EQ(first.fields, second.fields) << method << ' ' << path;
            EXPECT_EQ(first.body, second.body) << method << ' ' << path;
            if (std::string_view(method) == "HEAD") {
                EXPECT_EQ(first.body, "") << path;
            }
        }
    }
};

TEST_F(VersionsAgree, OnWhatAHandlerReturns) {
    for (const char* path : {"/text", "/large", "/json", "/nothing", "/none", "/redirect",
                             "/throws", "/pieces", "/no-pieces", "/nowhere"}) {
        expect_same(path);
    }
}

TEST_F(VersionsAgree, OnEachStatus) {
    for (const int status :
         {0, 99, 100, 101, 103, 199, 200, 204, 205, 206, 299, 304, 400, 404, 599, 999, 1000, -1}) {
        expect_same("/status/" + std::to_string(status));
    }
}

TEST_F(VersionsAgree, OnFieldsThatAHandlerMayNotSet) {
    for (int which = 0; which < 14; ++which) expect_same("/field/" + std::to_string(which));
}

}  // namespace
}  // namespace tiderace::http
