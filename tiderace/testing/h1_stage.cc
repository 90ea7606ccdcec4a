#include "tiderace/testing/h1_stage.h"

namespace tiderace::testing {
namespace {

std::string request_text(const http::Request& request) {
    return std::string(request.head->method_text()) + ' ' + std::string(request.head->target());
}

class Pieces final : public http::BodySource {
  public:
    Pieces(std::vector<std::string> all, State end) : all_(std::move(all)), end_(end) {}

    State pull(core::BlockPool& blocks, core::SendQueue& out, std::size_t) override {
        if (next_ < all_.size()) out.append(blocks, all_[next_++]);
        return next_ < all_.size() ? State::more : end_;
    }

  private:
    std::vector<std::string> all_;
    State end_;
    std::size_t next_ = 0;
};

class Whole final : public http::BodyReceiver {
  public:
    explicit Whole(std::function<void(http::Exchange&, const ReceivedBody&)> done)
        : done_(std::move(done)) {}

    void on_body(http::Exchange&, ByteView bytes) override { body_.bytes += bytes; }
    void on_trailer(http::Exchange&, ByteView name, ByteView value) override {
        body_.trailers.emplace_back(name, value);
    }
    void on_body_end(http::Exchange& exchange) override { done_(exchange, body_); }
    void on_body_failed(http::Exchange& exchange) override {
        body_.failed = true;
        done_(exchange, body_);
    }

  private:
    std::function<void(http::Exchange&, const ReceivedBody&)> done_;
    ReceivedBody body_;
};

// Passes everything on.
class Lent final : public http::BodyReceiver {
  public:
    explicit Lent(http::BodyReceiver& to) : to_(&to) {}

    void on_body(http::Exchange& exchange, ByteView bytes) override {
        to_->on_body(exchange, bytes);
    }
    void on_trailer(http::Exchange& exchange, ByteView name, ByteView value) override {
        to_->on_trailer(exchange, name, value);
    }
    void on_body_end(http::Exchange& exchange) override { to_->on_body_end(exchange); }
    void on_body_failed(http::Exchange& exchange) override { to_->on_body_failed(exchange); }

  private:
    http::BodyReceiver* to_;
};

void answer(http::Exchange& exchange, std::string body) {
    http::Response response;
    response.set_body(std::move(body));
    exchange.respond(response);
}

void answer_source(http::Exchange& exchange, std::vector<std::string> all,
                   std::optional<std::uint64_t> length) {
    http::Response response;
    response.set_body(pieces(std::move(all)), length);
    exchange.respond(response);
}

// Fields that belong to the connection, which is to ignore all of them, and one that does not.
void answer_with_all_framing_fields(http::Exchange& exchange) {
    http::Response response;
    response.add("Connection", "upgrade").add("Content-Length", "99").add("Date", "today");
    response.add("Transfer-Encoding", "gzip").add("Keep-Alive", "timeout=9").add("Server", "mine");
    response.add("X-Own", "kept");
    response.set_body("body");
    exchange.respond(response);
}

void echo_target(http::Exchange& exchange) {
    const http::Request& request = exchange.request();
    answer(exchange, std::string(request.path) + ' ' + std::string(request.query) + ' ' +
                         std::string(request.authority));
}

// Answers in a later turn, from the request's views, which are still valid then.
void answer_later(http::Exchange& exchange) {
    exchange.loop().post([kept = exchange.defer()]() mutable {
        answer(*kept, std::string(kept->request().path.substr(1)) + '\n');
    });
}

void answer_upload(http::Exchange& exchange) {
    receive_whole(exchange, H1Stage::upload_bytes_max,
                  [](http::Exchange& done, const ReceivedBody& body) {
                      if (body.failed) return;
                      std::string text = body.bytes;
                      for (const auto& [name, value] : body.trailers)
                          text += '|' + name + '=' + value;
                      answer(done, std::move(text));
                  });
}

}  // namespace

H1Stage::H1Stage(World& world, http::H1Options options, net::TcpServerOptions connections)
    : world_(&world),
      site_(static_cast<http::Handler&>(*this)),
      service_(world.loop(), site_, std::move(options)),
      server_(world.loop(), service_, std::move(connections)) {
    site_.set_log(this);
}

http::H1Options H1Stage::plain() {
    http::H1Options options;
    options.server_name.clear();
    return options;
}

void H1Stage::add_usual_paths() {
    on("/hello", [](http::Exchange& exchange) { answer(exchange, "hello\n"); });
    on("/echo", echo_target);
    on("/empty", [](http::Exchange& exchange) { exchange.respond_status(204); });
    on("/unchanged", [](http::Exchange& exchange) {
        http::Response response(304);
        response.add(http::wire::FieldName::etag, "\"1\"");
        response.set_body("not sent");
        exchange.respond(response);
    });
    on("/known", [](http::Exchange& exchange) { answer_source(exchange, {"01234", "56789"}, 10); });
    on("/stream", [](http::Exchange& exchange) { answer_source(exchange, {"one", "two"}, {}); });
    on("/later", answer_later);
    on("/upload", answer_upload);
    on("/nothing", [](http::Exchange&) {});
    on("/bad-field", [](http::Exchange& exchange) {
        http::Response response;
        response.add("X-Bad", "one\r\nX-Injected: two");
        response.set_body("not sent");
        exchange.respond(response);
    });
    on("/framing", answer_with_all_framing_fields);
    on("/unsent", [](http::Exchange& exchange) {
        http::Response response;
        response.set_unsent_body(42);
        exchange.respond(response);
    });
}

std::unique_ptr<Peer> H1Stage::connect() {
    if (!std::exchange(listening_, true)) server_.listen(world_->listen());
    return world_->connect();
}

std::string H1Stage::heard(const Peer& peer) {
    constexpr std::size_t line_bytes =
        std::string_view("Date: Sun, 09 Sep 2001 01:46:40 GMT\r\n").size();
    const ByteView all = peer.heard();
    std::string text;
    text.reserve(all.size());
    std::size_t from = 0;
    for (auto at = all.find("\nDate: "); at != ByteView::npos; at = all.find("\nDate: ", from)) {
        text += all.substr(from, at + 1 - from);
        // The last one may have come in part.
        from = std::min(at + 1 + line_bytes, all.size());
    }
    return text += all.substr(from);
}

bool H1Stage::run_until(const std::function<bool()>& done) {
    // First without time: a wait of the world's would move the clock to the next deadline, though
    // turns alone may bring what the test waits for.
    constexpr int turns_max = 64;
    for (int turns = 0; turns < turns_max && !done(); ++turns)
        world_->loop().turn(Duration::zero());
    return world_->run_until([&] { return done(); });
}

void H1Stage::handle(http::Exchange& exchange) {
    served_.push_back(request_text(exchange.request()));
    const auto action = actions_.find(exchange.request().path);
    action == actions_.end() ? exchange.respond_status(404) : action->second(exchange);
}

void H1Stage::write(const http::AccessRecord& record) {
    logged_.push_back({request_text(*record.request), record.status, record.body_bytes});
}

std::unique_ptr<http::BodySource> pieces(std::vector<std::string> all,
                                         http::BodySource::State end) {
    return std::make_unique<Pieces>(std::move(all), end);
}

void receive_whole(http::Exchange& exchange, std::uint64_t bytes_max,
                   std::function<void(http::Exchange&, const ReceivedBody&)> done) {
    exchange.receive_body(std::make_unique<Whole>(std::move(done)), bytes_max);
}

void receive_into(http::Exchange& exchange, http::BodyReceiver& receiver, std::uint64_t bytes_max) {
    exchange.receive_body(std::make_unique<Lent>(receiver), bytes_max);
}

}  // namespace tiderace::testing
