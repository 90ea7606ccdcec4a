// The fixture of this room's tests: a server and clients of TLS on a fake world, over pipes.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "tiderace/net/tcp_server.h"
#include "tiderace/testing/certificates.h"
#include "tiderace/testing/fake_world.h"
#include "tiderace/testing/pipe_transport.h"
#include "tiderace/testing/scripted_session.h"
#include "tiderace/testing/transport_peer.h"
#include "tiderace/tls/client_context.h"
#include "tiderace/tls/server_context.h"

namespace tiderace::tls {

class TlsTest : public ::testing::Test {
  protected:
    TlsTest() {
        sessions_.on_data = [](net::Connection& connection, ByteView data) {
            connection.write(data);
            return data.size();
        };
    }

    ServerOptions server_options() {
        if (files_.certificate.empty()) files_ = authority_.issue(folder_, "server");
        ServerOptions options;
        options.certificates = {files_};
        options.reload_check = Duration::zero();
        return options;
    }
    ClientOptions client_options() {
        return {.system_roots = false, .ca = authority_.write(folder_, "ca.pem")};
    }
    void serve() { serve(server_options()); }
    void serve(ServerOptions options) {
        auto made = ServerContext::create(world_.loop(), std::move(options));
        ASSERT_TRUE(made) << made.error().message();
        server_.reset();
        context_ = std::move(*made);
        server_.emplace(world_.loop(), sessions_, net::TcpServerOptions{});
    }
    void trust() { trust(client_options()); }
    void trust(ClientOptions options) {
        auto made = ClientContext::create(world_.loop(), std::move(options));
        ASSERT_TRUE(made) << made.error().message();
        client_ = std::move(*made);
    }
    // The client's end of a new connection, below TLS.
    std::unique_ptr<net::Transport> reach(const testing::PipeOptions& options = {}) {
        auto pipe = testing::make_pipe(world_.loop(), options);
        server_->adopt(context_->wrap(std::move(pipe.near)), core::Address::loopback(1));
        return std::move(pipe.far);
    }
    std::unique_ptr<testing::TransportPeer> connect(const std::string& name = "localhost",
                                                    const testing::PipeOptions& options = {}) {
        if (!server_) serve();
        if (client_ == nullptr) trust();
        return std::make_unique<testing::TransportPeer>(world_.loop(),
                                                        client_->wrap(reach(options), name));
    }
    bool run_until(unique_function<bool()> done) { return world_.run_until(std::move(done)); }

    testing::TemporaryFolder folder_;
    testing::Authority authority_;
    CertificateFiles files_;
    testing::FakeWorld world_;
    testing::ScriptedSessions sessions_;
    std::unique_ptr<ServerContext> context_;
    std::unique_ptr<ClientContext> client_;
    std::optional<net::TcpServer> server_;
};

}  // namespace tiderace::tls
