// H1Stage: an HTTP/1 server on a World, whose handler does what a test wrote for each path.
//
//   H1Stage stage(world);
//   stage.on("/later", [&](http::Exchange& exchange) { kept = exchange.defer(); });
//   auto peer = stage.connect();
//   peer->say("GET /later HTTP/1.1\r\nHost: a\r\n\r\n");
//
// An unknown path is answered 404. The access log is kept, line by line.
//
// Owner    The test; it goes before its world and after the peers' last turn.
// Thread   One.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "tiderace/http/h1/service.h"
#include "tiderace/http/site_loop.h"
#include "tiderace/net/tcp_server.h"
#include "tiderace/testing/world.h"

namespace tiderace::testing {

// One line of the access log.
struct Logged {
    std::string request;  // "GET /hello"
    int status = 0;
    std::uint64_t bytes = 0;

    bool operator==(const Logged&) const = default;
};

class H1Stage final : private http::Handler, private http::AccessLog {
  public:
    using Action = std::function<void(http::Exchange&)>;

    explicit H1Stage(World& world, http::H1Options options = plain(),
                     net::TcpServerOptions connections = {});

    // No Server field, so that answers can be written down whole.
    static http::H1Options plain();

    // GET these, or send a body to /upload:
    //   /hello      "hello\n"
    //   /echo       the canonical path, the query and the authority
    //   /empty      204          /unchanged  304, with a body that is not sent
    //   /known      "0123456789" of a source that says its length
    //   /stream     "one" and "two" of a source that does not
    //   /later      "later\n", in a later turn
    //   /upload     the body, at most upload_bytes_max of it, and its trailers
    //   /nothing    not answered        /bad-field  a field that cannot be written
    //   /framing    sets the fields that are the connection's business
    //   /hint       no body, and a hint of 42 bytes
    static constexpr std::uint64_t upload_bytes_max = 100;
    void add_usual_paths();

    void on(std::string path, Action action) { actions_[std::move(path)] = std::move(action); }
    std::unique_ptr<Peer> connect();
    // The bytes that it received so far, without the Date lines.
    static std::string heard(const Peer& peer);
    // As the world's, but no time passes that need not.
    bool run_until(const std::function<bool()>& done);

    World& world() { return *world_; }
    http::SiteLoop& site() { return site_; }
    http::H1Service& service() { return service_; }
    net::TcpServer& server() { return server_; }
    std::uint64_t closed(net::CloseReason reason) const {
        return server_.counters().closed[static_cast<std::size_t>(reason)];
    }
    // "GET /hello", in the order they came to the handler.
    const std::vector<std::string>& served() const { return served_; }
    const std::vector<Logged>& logged() const { return logged_; }
    void forget_served() { served_.clear(); }

  private:
    void handle(http::Exchange& exchange) override;
    void write(const http::AccessRecord& record) override;

    World* world_;
    std::map<std::string, Action, std::less<>> actions_;
    std::vector<std::string> served_;
    std::vector<Logged> logged_;
    http::SiteLoop site_;
    http::H1Service service_;
    net::TcpServer server_;
    bool listening_ = false;
};

// A body in pieces as they are, one to a pull; then what `end` says.
std::unique_ptr<http::BodySource> pieces(
    std::vector<std::string> all, http::BodySource::State end = http::BodySource::State::end);

// A whole request body, and what became of it.
struct ReceivedBody {
    std::string bytes;
    std::vector<std::pair<std::string, std::string>> trailers;
    bool failed = false;
};
// Receives the body, then calls `done` once: with all of it, or with `failed` set.
void receive_whole(http::Exchange& exchange, std::uint64_t bytes_max,
                   std::function<void(http::Exchange&, const ReceivedBody&)> done);
// Lends the exchange a receiver that the test keeps.
void receive_into(http::Exchange& exchange, http::BodyReceiver& receiver, std::uint64_t bytes_max);

}  // namespace tiderace::testing
