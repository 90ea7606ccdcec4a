// A Client and servers on one in-memory network: what the servers say is in the test's hand.
#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "tiderace/core/worker_pool.h"
#include "tiderace/http/client/client.h"
#include "tiderace/net/tcp_server.h"
#include "tiderace/testing/fake_world.h"
#include "tiderace/testing/scripted_session.h"

namespace tiderace::http {

// A server that hands each head, with what came behind it, to a function.
class ClientTestServer {
  public:
    using Connection = net::Connection;
    using Answer = std::function<void(Connection&, const std::string& request)>;

    explicit ClientTestServer(testing::FakeWorld& world) : server_(world.loop(), sessions, {}) {
        sessions.on_data = [this](Connection& connection, ByteView data) -> std::size_t {
            if (data.find("\r\n\r\n") == ByteView::npos) return 0;
            requests.emplace_back(data);
            if (answer) answer(connection, requests.back());
            return data.size();
        };
        server_.listen(world.listen());
        place = world.listening_at().to_string();
        url = "http://" + place;
    }
    ~ClientTestServer() { server_.abort_all(); }

    void listen(core::Descriptor at) { server_.listen(std::move(at)); }
    // The same bytes for each request.
    void say(std::string bytes) {
        answer = [bytes = std::move(bytes)](Connection& connection, const std::string&) {
            connection.write(bytes);
        };
    }
    // These, one for each request.
    void say_each(std::vector<std::string> all) {
        answer = [this, all = std::move(all)](Connection& connection, const std::string&) {
            connection.write(all.at(std::min(requests.size(), all.size()) - 1));
        };
    }
    std::size_t connections() const { return server_.size(); }
    int opened() const { return sessions.opened; }

    testing::ScriptedSessions sessions;
    Answer answer;
    std::vector<std::string> requests;
    std::string place;
    std::string url;

  private:
    net::TcpServer server_;
};

class ClientTest : public ::testing::Test {
  protected:
    ~ClientTest() override {
        runner.cancel_spawned();
        client.reset();
        world.settle();
    }

    Client& make(ClientOptions options = {}) {
        options.proxy_from_environment = false;
        return client.emplace(nullptr, std::move(options));
    }
    Client& the_client() { return client ? *client : make(); }

    // Begins a request; `told` is what came of it, once it has.
    std::shared_ptr<std::string> begin(ClientRequest request) {
        auto told = std::make_shared<std::string>();
        runner.spawn(ask_into(the_client(), std::move(request), told));
        return told;
    }
    std::string ask(ClientRequest request) {
        const auto told = begin(std::move(request));
        world.run_until([&] { return !told->empty(); });
        return *told;
    }
    std::string get(const std::string& url) { return ask(ClientRequest("GET", url)); }

    // "200 body", or "! kind: message".
    static std::string describe(const ClientResult<ClientResponse>& answer) {
        if (answer) return std::to_string(answer->status) + " " + answer->body;
        static constexpr const char* kinds[] = {"bad_request",  "busy",        "connect",
                                                "tls",          "timed_out",   "closed",
                                                "bad_answer",   "too_large",   "too_many_redirects",
                                                "bad_redirect", "body_failed", "save_failed"};
        return std::string("! ") + kinds[static_cast<int>(answer.error().kind)] + ": " +
               answer.error().message;
    }
    void run(task::Task<> task) {
        bool done = false;
        runner.spawn(mark(std::move(task), done));
        EXPECT_TRUE(world.run_until([&] { return done; }));
    }
    static std::string ok(std::string_view body, std::string_view fields = {}) {
        return "HTTP/1.1 200 OK\r\nContent-Length: " + std::to_string(body.size()) + "\r\n" +
               std::string(fields) + "\r\n" + std::string(body);
    }

    testing::FakeWorld world;
    core::WorkerPool pool{2, 16};
    task::Runner runner{world.loop(), &pool};
    std::optional<Client> client;

  private:
    static task::Task<> ask_into(Client& client, ClientRequest request,
                                 std::shared_ptr<std::string> told) {
        const auto answer = co_await client.request(std::move(request));
        *told = describe(answer);
    }
    static task::Task<> mark(task::Task<> task, bool& done) {
        co_await std::move(task);
        done = true;
    }
};

}  // namespace tiderace::http
