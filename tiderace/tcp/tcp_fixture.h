// A server of streams on a world, for the tests of this room.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>

#include "tiderace/core/worker_pool.h"
#include "tiderace/net/tcp_server.h"
#include "tiderace/task/scope.h"
#include "tiderace/task/sleep.h"
#include "tiderace/task/within.h"
#include "tiderace/tcp/serve.h"
#include "tiderace/tcp/server.h"
#include "tiderace/testing/fake_world.h"
#include "tiderace/testing/world.h"

namespace tiderace::tcp {

// Everything of a served loop but the sockets and signals of the process.
class ServedWorld {
  public:
    explicit ServedWorld(const std::string& name) : world(testing::make_world(name)) {}
    ~ServedWorld() { end_all(); }

    void serve(Handler with, ServeOptions options = {}) {
        handler = std::move(with);
        tasks = std::make_unique<Tasks>(runner, handler, options);
        listen(*tasks, options);
    }
    void serve(const Server& server, ServeOptions options = {}) {
        callbacks = server.callbacks();
        peers = std::make_unique<Peers>(runner, states, callbacks, options);
        listen(*peers, options);
    }
    void drain(Duration within = 10s) {
        server->drain(world->clock().now() + within, [this] { drained = true; });
    }
    // As Serving ends: connections first, then what served them. The last line of a test whose
    // handlers use its locals.
    void end_all() {
        runner.cancel_spawned();
        server.reset();
        tasks.reset();
        peers.reset();
    }

    std::unique_ptr<testing::World> world;
    core::WorkerPool pool{2, 16};
    task::Runner runner{world->loop(), &pool};
    Handler handler;
    Callbacks callbacks;
    task::States states;
    std::unique_ptr<Tasks> tasks;
    std::unique_ptr<Peers> peers;
    std::unique_ptr<net::TcpServer> server;
    bool drained = false;

  private:
    void listen(net::SessionFactory& sessions, const ServeOptions& options) {
        server = std::make_unique<net::TcpServer>(
            world->loop(), sessions, net::TcpServerOptions{.connection = options.limits});
        server->listen(world->listen());
    }
};

class EveryTcp : public ::testing::TestWithParam<std::string>, protected ServedWorld {
  protected:
    EveryTcp() : ServedWorld(GetParam()) {}
    template <typename Condition>
    void expect_soon(Condition&& condition) {
        EXPECT_TRUE(world->run_until(std::forward<Condition>(condition)));
    }
};

inline task::Task<> echo(Stream stream) {
    while (auto bytes = co_await stream.read()) co_await stream.write(*bytes);
}

}  // namespace tiderace::tcp
