// ClientStage: what a testing::Client stands on: a world in memory, an App served there, and one
// exchange of a request and its answer.
//
// Owner    The Client. ClientExchanges end before it.
// Thread   The test's.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>

#include "tiderace/base/unique_function.h"
#include "tiderace/core/worker_pool.h"
#include "tiderace/http/app/app_loop.h"
#include "tiderace/http/client/headers.h"
#include "tiderace/http/filter/error_pages.h"
#include "tiderace/http/h1/service.h"
#include "tiderace/http/wire/response_reader.h"
#include "tiderace/log/doorbell.h"
#include "tiderace/log/logger.h"
#include "tiderace/log/stream.h"
#include "tiderace/log/time_source.h"
#include "tiderace/net/tcp_server.h"
#include "tiderace/testing/client.h"
#include "tiderace/testing/fake_world.h"

namespace tiderace::testing {

// A connection and the answer that comes on it.
class ClientExchange {
  public:
    explicit ClientExchange(std::unique_ptr<FakePeer> peer) : peer_(std::move(peer)) {}

    // Another request on the same connection.
    void begin(bool to_head);
    void say(ByteView bytes) { peer_->say(bytes); }
    void close();
    void set_listening(bool on) { peer_->set_listening(on); }

    // Parses what has arrived, until the body has `body_bytes_max` bytes.
    void look(std::size_t body_bytes_max);
    bool over() const { return done_ || !fault_.empty(); }
    // Another request may follow.
    bool reusable() const;

    int status() const { return status_; }
    bool done() const { return done_; }
    const http::Headers& fields() const { return fields_; }
    http::Headers take_headers() { return std::move(fields_); }
    http::Headers take_trailers() { return std::move(trailers_); }
    std::string& body() { return body_; }
    const std::string& fault() const { return fault_; }

    bool uploading = false;

  private:
    void end_of_stream();

    std::unique_ptr<FakePeer> peer_;
    http::wire::ResponseReader reader_;
    http::wire::FieldPlaces places_;
    std::size_t taken_ = 0;  // bytes of peer_->heard()
    int status_ = 0;
    http::Headers fields_;
    http::Headers trailers_;
    std::string body_;
    std::string fault_;
    bool done_ = false;
};

class ClientStage {
  public:
    ClientStage(const http::App& app, ClientOptions options);
    ~ClientStage();

    // Turns until nothing more happens now, or `enough`.
    void settle(unique_function<bool()> enough);
    // The same, but time passes when nothing else can happen, at most `patience`.
    void wait(unique_function<bool()> enough);
    void advance(Duration by);

    std::unique_ptr<ClientExchange> connect();
    ClientResponse ask(std::string_view method, std::string_view target, const Content& content,
                       const Headers& fields);
    ClientResponse finish(ClientExchange& exchange);
    // On a connection of its own, until its head is there or nothing more happens now.
    Stream open(const std::string& head, std::string_view target, bool uploading = false);
    // The head of a request, with its empty line.
    std::string head(std::string_view method, std::string_view target, std::string_view type,
                     std::string_view framing, const Headers& fields);
    void keep_cookies(const http::Headers& fields, std::string_view target);

    FakeWorld& world() { return world_; }
    http::CookieJar& cookies() { return cookies_; }
    Headers& standing() { return standing_; }
    std::size_t connections() const { return server_.size(); }
    const ClientOptions& options() const { return options_; }

  private:
    bool still();

    ClientOptions options_;
    // Before the world, whose loop logs until it ends. No thread writes it: settle() drains it.
    log::Doorbell bell_;
    log::Stream log_;
    log::SystemTime time_;
    log::Logger logger_;
    FakeWorld world_;
    core::WorkerPool pool_;
    http::AppLoop loop_;
    http::filter::ErrorPages error_pages_;
    http::H1Service service_;
    net::TcpServer server_;
    http::CookieJar cookies_;
    Headers standing_;
    std::unique_ptr<ClientExchange> kept_;  // its connection, for the next request
};

}  // namespace tiderace::testing
