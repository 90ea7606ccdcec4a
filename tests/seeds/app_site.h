// AppSite: an App with handlers of every kind in the fake world: they throw, answer late, never
// answer, block their loop or outlive their client, and read bodies that are hostile.
//
// Owner    A scenario; it goes before its world.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "tests/seeds/other_loop.h"
#include "tiderace/http/app/app.h"
#include "tiderace/http/app/app_loop.h"
#include "tiderace/http/h1/service.h"
#include "tiderace/http/h2/service.h"
#include "tiderace/net/tcp_server.h"
#include "tiderace/testing/fake_world.h"

namespace tiderace::testing {

class AppSite {
  public:
    AppSite(FakeWorld& world, http::H1Options h1, http::H2Options h2,
            const net::TcpServerOptions& connections);

    net::TcpServer& server() { return *server_; }
    http::App& app() { return app_; }
    // It turns between the turns of the world's loop, and ends at some time.
    OtherLoop& other_loop() { return other_loop_; }

    // After its server drained: each frame of a handler has ended, and the background task and what
    // outlives its request end in time.
    void expect_to_end(FakeWorld& world);

  private:
    OtherLoop other_loop_;
    http::App app_;
    std::unique_ptr<http::AppLoop> loop_;
    std::unique_ptr<http::H2Service> http2_;
    std::unique_ptr<http::H1Service> service_;
    std::unique_ptr<net::TcpServer> server_;
};

// A request of the scenarios.
struct AppQuestion {
    std::string method;
    std::string path;
    std::string type = {};    // Content-Type
    std::string cookie = {};  // Cookie
    std::string body = {};
};
std::vector<AppQuestion> all_questions();
// A million awaits that end at once, and 100,000 fields of a form.
std::vector<AppQuestion> extreme_questions();

// The bytes that GET /breaks sends before it breaks off, where its client takes all of them.
std::string all_pieces_before_break();

}  // namespace tiderace::testing
