// H2Stage: an H1Stage whose connections may speak HTTP/2, for tests.
//
// Owner    The test; it goes before its world.
// Thread   One.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <utility>

#include "tiderace/http/h2/service.h"
#include "tiderace/testing/h1_stage.h"
#include "tiderace/testing/h2_client.h"

namespace tiderace::testing {

class H2Stage final {
  public:
    explicit H2Stage(World& world, http::H2Options options = plain(),
                     net::TcpServerOptions connections = {})
        : http1_(world, H1Stage::plain(), std::move(connections)),
          http2_(world.loop(), http1_.site(), std::move(options)) {
        http1_.add_usual_paths();
        http1_.service().set_http2(http2_);
    }

    // Connections go before what they borrow.
    ~H2Stage() {
        http1_.server().abort_all();
        http1_.world().settle();
    }
    H2Stage(const H2Stage&) = delete;
    H2Stage& operator=(const H2Stage&) = delete;

    // No Server field, and streams may become connections.
    static http::H2Options plain() {
        http::H2Options options;
        options.server_name.clear();
        options.head.extended_connect = true;
        return options;
    }

    void on(std::string path, H1Stage::Action action) { http1_.on(std::move(path), action); }
    std::unique_ptr<Peer> connect() { return http1_.connect(); }
    bool run_until(const std::function<bool()>& done) { return http1_.run_until(done); }

    H1Stage& stage() { return http1_; }
    http::H2Service& service() { return http2_; }
    http::H2Counters& counters() { return http2_.counters(); }
    net::TcpServer& server() { return http1_.server(); }

  private:
    H1Stage http1_;
    http::H2Service http2_;
};

}  // namespace tiderace::testing
