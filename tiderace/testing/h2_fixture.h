// The fixture of HTTP/2's tests: a stage, one client, on every engine.
#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "tiderace/http/h2/connection.h"
#include "tiderace/testing/fake_world.h"
#include "tiderace/testing/h2_stage.h"

namespace tiderace::testing {

// Takes a request's body, and pauses after each piece.
struct PausingReceiver final : http::BodyReceiver {
    std::string body;
    bool whole = false;
    void on_body(http::Exchange& exchange, ByteView bytes) override {
        body += bytes;
        exchange.set_body_reading(false);
    }
    void on_body_end(http::Exchange& exchange) override {
        whole = true;
        if (!exchange.responded()) exchange.respond_status(204);
    }
    void on_body_failed(http::Exchange&) override {}
};

class H2Test : public ::testing::TestWithParam<std::string> {
  protected:
    static constexpr std::uint32_t large_window = 1'000'000;

    H2Test() { start(H2Stage::plain()); }

    void start(http::H2Options options, net::TcpServerOptions connections = {}) {
        client_.reset();
        peer_.reset();
        stage_.reset();
        stage_ = std::make_unique<H2Stage>(*world_, std::move(options), std::move(connections));
        stage_->on("/kept", [this](http::Exchange& exchange) { kept_ = exchange.defer(); });
        stage_->on("/large", [this](http::Exchange& exchange) {
            core::SendQueue queue;
            queue.append_shared(large_, {});
            http::Response response;
            response.set_body(std::move(queue));
            exchange.respond(response);
        });
    }
    H2Client& connect(std::vector<http::wire::H2Setting> settings = {}) {
        peer_ = stage_->connect();
        client_ = std::make_unique<H2Client>(*peer_, std::move(settings));
        return *client_;
    }
    bool run_until(const std::function<bool()>& done) { return stage_->run_until(done); }
    bool ended(std::uint32_t stream) {
        return run_until([&] { return client_->answer(stream).ended; });
    }
    bool reset(std::uint32_t stream) {
        return run_until([&] { return client_->answer(stream).reset.has_value(); });
    }
    bool gone() {
        return run_until([&] { return client_->goaway() && peer_->over(); });
    }

    const std::string large_ = std::string(300'000, 'x');
    std::unique_ptr<World> world_ = make_world(GetParam());
    std::unique_ptr<H2Stage> stage_;
    std::unique_ptr<Peer> peer_;
    std::unique_ptr<H2Client> client_;
    core::Ref<http::Exchange> kept_;
};

}  // namespace tiderace::testing
