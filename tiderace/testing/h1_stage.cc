#include "tiderace/testing/h1_stage.h"

#include "tiderace/http/wire/http_date.h"

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
    void on_body_end(http::Exchange& exchange) override { tell(exchange); }
    void on_body_failed(http::Exchange& exchange) override {
        body_.failed = true;
        tell(exchange);
    }

  private:
    void tell(http::Exchange& exchange) {
        const std::unique_ptr<Whole> self(this);
        done_(exchange, body_);
    }

    std::function<void(http::Exchange&, const ReceivedBody&)> done_;
    ReceivedBody body_;
};

}  // namespace

H1Stage::H1Stage(World& world, http::H1Options options, net::TcpServerOptions connections)
    : world_(&world),
      site_(static_cast<http::Handler&>(*this)),
      service_(world.loop(), site_, std::move(options)),
      server_(world.loop(), service_, std::move(connections)) {
    site_.set_log(*this);
}

http::H1Options H1Stage::plain() {
    http::H1Options options;
    options.server_name.clear();
    return options;
}

std::unique_ptr<Peer> H1Stage::connect() {
    if (!std::exchange(listening_, true)) server_.listen(world_->listen());
    return world_->connect();
}

std::string H1Stage::without_dates(std::string text) const {
    const auto date = http::wire::format_http_date(world_->clock().unix_now());
    const std::string line = "Date: " + std::string(date.data(), date.size()) + "\r\n";
    for (auto at = text.find(line); at != std::string::npos; at = text.find(line, at)) {
        text.erase(at, line.size());
    }
    return text;
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
    exchange.receive_body(*new Whole(std::move(done)), bytes_max);
}

}  // namespace tiderace::testing
