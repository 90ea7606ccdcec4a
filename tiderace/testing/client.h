// Client: drives an App in memory. tiderace/testing.h begins with an example.
//
//   client -> fake network -> net::Connection -> http::H1Connection -> App     all on this thread
//
// Time     It stands still, but for advance(), and while an answer is waited for: then the clock
//          moves to the next deadline whenever nothing else can happen, so that a handler that
//          sleeps answers at once. Streams let no time pass. offload() runs on real threads, and
//          a database answers in real time: both are waited for.
// Log      Errors go to standard error: a 500 does not say what its handler threw.
// Cookies  Cookies of answers are sent back, as by a browser over https; they expire by the clock.
//
// Owner    The test. The App outlives it.
// Thread   The test's, which becomes the loop's.
// Errors   An App that cannot serve (App::fault()) throws std::invalid_argument. No whole answer:
//          its status is 0 and `fault` says why.
// Limits   ClientOptions.
// Keywords: integration test, TestClient
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "tiderace/base/units.h"
#include "tiderace/http/app/app.h"
#include "tiderace/http/client/client_response.h"
#include "tiderace/http/client/content.h"
#include "tiderace/http/client/cookie_jar.h"
#include "tiderace/http/client/headers.h"
#include "tiderace/http/stages.h"
#include "tiderace/log/level.h"
#include "tiderace/testing/client_socket.h"
#include "tiderace/testing/client_stream.h"

namespace tiderace::testing {

using http::Content;
using http::form;
using http::Headers;

struct ClientOptions {
    std::string host = "localhost";         // the Host field
    Duration patience = 1h;                 // on the test's clock, for one answer
    std::size_t answer_bytes_max = 64_MiB;  // of a body that is read whole
    bool cookies = true;                    // kept and sent back
    Duration idle_timeout = http::MessageOptions{}.idle_timeout;
    std::size_t connections_max = 10'000;  // open streams among them
    log::Level log = log::Level::error;    // and above, of the App, to standard error
};

struct ClientResponse : http::ClientResponse {
    std::string fault;  // "" for a whole answer
};

class Client {
  public:
    explicit Client(const http::App& app, ClientOptions options = {});
    explicit Client(const http::App&&, ClientOptions = {}) = delete;  // it would be gone
    ~Client();
    Client(const Client&) = delete;
    Client& operator=(const Client&) = delete;

    ClientResponse get(std::string_view target, const Headers& fields = {});
    ClientResponse head(std::string_view target, const Headers& fields = {});
    ClientResponse post(std::string_view target, const Content& content = {},
                        const Headers& fields = {});
    ClientResponse put(std::string_view target, const Content& content = {},
                       const Headers& fields = {});
    ClientResponse patch(std::string_view target, const Content& content = {},
                         const Headers& fields = {});
    ClientResponse del(std::string_view target, const Headers& fields = {});
    ClientResponse request(std::string_view method, std::string_view target,
                           const Content& content = {}, const Headers& fields = {});
    // Bytes as they are, on a connection of their own: for what no client would send. The answer to
    // the first request in them.
    ClientResponse raw(ByteView bytes);

    // An answer that is read while it is made; and a body that is written while it is read, for
    // which `content` has a type and no bytes. The Client outlives it.
    Stream open(std::string_view target, const Headers& fields = {});
    Stream open_upload(std::string_view method, std::string_view target, std::string_view type,
                       const Headers& fields = {});

    // A WebSocket, on a connection of its own. Subprotocols and an Origin are fields.
    WebSocket websocket(std::string_view target, const Headers& fields = {});

    // Sent with each request from now on, "Authorization" say; in the place of one set before.
    void set_header(std::string name, std::string value);

    // Time passes, with all that happens in it.
    void advance(Duration by);
    Instant now() const;

    http::CookieJar& cookies();
    core::EventLoop& loop();
    // Connections that the server has open.
    std::size_t connections() const;

  private:
    std::unique_ptr<ClientStage> stage_;
};

}  // namespace tiderace::testing
