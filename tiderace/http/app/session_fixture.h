// An App with sessions, and a store that a test changes a part of.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "tiderace/http/app/app_fixture.h"
#include "tiderace/http/app/session.h"

namespace tiderace::http {

class SessionTest : public AppTest {
  protected:
    void serve_sessions(SessionOptions options = {}) { serve_sessions(options, store); }
    void serve_sessions(SessionOptions options, std::shared_ptr<SessionStore> of) {
        app.use(sessions(std::move(of), options));
        app.get<"/">([](Session session) { return "[" + std::string(session.get("user")) + "]"; });
        app.post<"/login">([](Session session) -> task::Task<std::string> {
            co_await session.renew();
            co_await session.set("user", "ann & bob");
            co_return "in";
        });
        app.post<"/logout">([](Session session) -> task::Task<std::string> {
            co_await session.end();
            co_return "out";
        });
    }
    std::string ask_with(std::string_view method, std::string_view path, const std::string& id) {
        return ask(method, path, id.empty() ? "" : "Cookie: __Host-id=" + id + "\r\n");
    }
    static std::string set_cookie(const std::string& answer) {
        const std::size_t at = answer.find("Set-Cookie: ");
        return at == std::string::npos ? ""
                                       : answer.substr(at + 12, answer.find("\r\n", at) - at - 12);
    }
    static std::string id_of(const std::string& answer) {
        const std::string cookie = set_cookie(answer);
        return cookie.substr(10, cookie.find(';') - 10);
    }

    std::shared_ptr<MemorySessions> store = std::make_shared<MemorySessions>(3);
};

// The default of a store whose tests do not change it: it keeps all in memory.
class OverMemory : public SessionStore {
  public:
    task::Task<std::optional<Found>> load(std::string key, UnixSeconds now) override {
        return inner.load(std::move(key), now);
    }
    task::Task<> save(std::string key, std::string data, UnixSeconds expires) override {
        return inner.save(std::move(key), std::move(data), expires);
    }
    task::Task<Replaced> replace(std::string key, std::string before, std::string data,
                                 UnixSeconds expires) override {
        return inner.replace(std::move(key), std::move(before), std::move(data), expires);
    }
    task::Task<bool> prolong(std::string key, UnixSeconds expires) override {
        return inner.prolong(std::move(key), expires);
    }
    task::Task<std::optional<std::string>> take(std::string key) override {
        return inner.take(std::move(key));
    }

    MemorySessions inner;
};

}  // namespace tiderace::http
