// An App on the in-memory network, asked with the text of requests.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <string>

#include "tiderace/http/app/app.h"
#include "tiderace/http/app/app_loop.h"
#include "tiderace/http/h1/service.h"
#include "tiderace/http/h2/service.h"
#include "tiderace/net/tcp_server.h"
#include "tiderace/task/sleep.h"
#include "tiderace/testing/fake_world.h"

namespace tiderace::http {

class AppTest : public ::testing::Test {
  protected:
    ~AppTest() override {
        if (server_) server_->abort_all();
        world.settle();
    }

    // Serves `app` from now on.
    std::unique_ptr<testing::Peer> connect() {
        if (!server_) {
            loop_.emplace(world.loop(), app, &pool_);
            EXPECT_FALSE(loop_->fault()) << loop_->fault()->message();
            service_.emplace(world.loop(), loop_->site(), H1Options{{.server_name = ""}});
            http2_.emplace(
                world.loop(), loop_->site(),
                H2Options{{.server_name = ""}, {.extended_connect = loop_->takes_websockets()}});
            service_->set_http2(*http2_);
            server_.emplace(world.loop(), *service_, net::TcpServerOptions{});
            server_->listen(world.listen());
        }
        return world.connect();
    }
    // The answer to one request, without its Date.
    std::string ask(std::string_view method, std::string_view target, std::string_view fields = {},
                    std::string_view body = {}) {
        auto peer = connect();
        std::string text = std::string(method) + " " + std::string(target) +
                           " HTTP/1.1\r\nHost: a\r\nConnection: close\r\n" + std::string(fields);
        if (!body.empty()) text += "Content-Length: " + std::to_string(body.size()) + "\r\n";
        peer->say(text + "\r\n" + std::string(body));
        EXPECT_TRUE(world.run_until([&] { return peer->over(); })) << target;
        return without_date(peer->heard());
    }
    std::string get(std::string_view target) { return ask("GET", target); }
    static std::string status_of(const std::string& answer) { return answer.substr(9, 3); }
    static std::string body_of(const std::string& answer) {
        const std::size_t end = answer.find("\r\n\r\n");
        return end == std::string::npos ? "" : answer.substr(end + 4);
    }
    static std::string without_date(std::string text) {
        for (std::size_t at; (at = text.find("Date: ")) != std::string::npos;) {
            text.erase(at, text.find("\r\n", at) + 2 - at);
        }
        return text;
    }
    task::Runner& runner() { return loop_->runner(); }
    AppLoop& loop() { return *loop_; }
    net::TcpServer& server() { return *server_; }

    testing::FakeWorld world;
    App app;

  private:
    core::WorkerPool pool_{2, 16};
    std::optional<AppLoop> loop_;
    std::optional<H1Service> service_;
    std::optional<H2Service> http2_;
    std::optional<net::TcpServer> server_;
};

}  // namespace tiderace::http
