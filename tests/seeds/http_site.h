// HttpSite: a small static site in the fake world, and what its answers are when all goes well.
//
// Owner    A scenario; it goes before its world. The folder is shared by all of them.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "tests/seeds/fake_talk.h"
#include "tiderace/http/h1/service.h"
#include "tiderace/http/handler/static_files.h"
#include "tiderace/http/site_loop.h"
#include "tiderace/net/tcp_server.h"
#include "tiderace/testing/world.h"

namespace tiderace::testing {

class HttpSite {
  public:
    HttpSite(World& world, http::H1Options options, const net::TcpServerOptions& connections);

    net::TcpServer& server() { return server_; }
    http::H1Service& service() { return service_; }
    http::SiteLoop& site() { return site_; }
    bool started() const { return files_ != nullptr; }

  private:
    class Nothing final : public http::Handler {
        void handle(http::Exchange& exchange) override { exchange.respond_status(404); }
    };

    Nothing nothing_;
    std::unique_ptr<http::handler::StaticFiles> files_;
    http::SiteLoop site_;
    http::H1Service service_;
    net::TcpServer server_;
};

// A request, and its whole answer without the Date line.
struct Asked {
    std::string request;
    std::string answer;
    bool last = false;  // the connection ends behind it
};

// Every kind of request that the scenarios ask, answered once by a site where nothing fails.
const std::vector<Asked>& all_asked();

// A client that asks some of these.
struct AskingTalk : FakeTalk {
    std::vector<const Asked*> asked;
};

// 1 to `most` of `all`, at times only their beginning. None behind one after which `ends`, and
// mostly none behind one that ends the connection.
void choose_requests(Random& random, AskingTalk& client, const std::vector<Asked>& all,
                     std::uint64_t most, const std::function<bool(const Asked&)>& ends = {});
// Connects, at its own pace, and plans what it sends.
void begin_talk(FakeWorld& world, Random& random, AskingTalk& client);
bool all_done(const std::vector<AskingTalk>& clients);
// Whether it must have received all answers, where the scenario was `undisturbed`.
bool is_owed_all(const AskingTalk& client, bool undisturbed);

http::H1Options random_h1_options(Random& random, bool patient);
net::TcpServerOptions random_connections(Random& random, bool patient);

// Without Date lines, and without the beginning of one at the end.
std::string without_dates(std::string_view heard);

// The fault in the bytes that a peer with these requests received; "" if they are the beginning of
// a correct sequence of answers. `whole`: they must be all of it.
std::string fault_in(std::string_view heard, const std::vector<const Asked*>& asked, bool whole);

}  // namespace tiderace::testing
