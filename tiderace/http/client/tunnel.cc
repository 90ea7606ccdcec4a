#include "tiderace/http/client/tunnel.h"

#include <cerrno>
#include <utility>

#include "tiderace/http/wire/response_reader.h"

namespace tiderace::http {
namespace {

//   open -> CONNECT ----> 2xx -> open_: all calls go through to the transport below
//                   `--> anything else, or an end -> refused_: on_receive_failed
//
// The layer above (TLS, a connection) sees a transport that is slow to take its first bytes.
class Tunnel final : public net::Transport, private net::Transport::Observer {
  public:
    Tunnel(core::BlockPool& blocks, std::unique_ptr<net::Transport> below,
           const std::string& request, std::shared_ptr<std::string> refusal)
        : below_(std::move(below)), refusal_(std::move(refusal)) {
        request_.append(blocks, request);
    }

    void open(net::Transport::Observer& observer) override {
        observer_ = &observer;
        below_->open(*this);
        below_->set_receiving(true);
        send_request();
    }
    void set_receiving(bool on) override {
        receiving_ = on;
        // Until then this class reads, whatever the layer above wants.
        if (open_) below_->set_receiving(on);
    }
    core::Sent send(core::SendQueue& queue) override {
        if (open_) return below_->send(queue);
        // The bytes stay in the queue of the layer above, which tries again after on_sent().
        waits_ = true;
        return {.bytes = 0, .pending = true, .error = 0};
    }
    void finish() override { below_->finish(); }
    void say_end() override { below_->say_end(); }
    void close(core::SendQueue&& unsent) override {
        // The kernel may still read what is not sent of the request.
        below_->close(request_.empty() ? std::move(unsent) : std::move(request_));
    }
    void set_reset_on_close() override { below_->set_reset_on_close(); }
    std::uint64_t unacknowledged_bytes() const override { return below_->unacknowledged_bytes(); }
    std::uint64_t held_bytes() const override { return below_->held_bytes(); }

  private:
    static constexpr std::uint32_t answer_bytes_max = 16 * 1024;

    // A fault shows where the answer is read, and not inside open().
    void send_request() { below_->send(request_); }

    void on_received(ByteView bytes) override {
        if (open_) return observer_->on_received(bytes);
        if (bytes.empty()) return refuse("the proxy closed the connection");
        // The reader wants a head in one piece, and the proxy may send it in many.
        answer_ += bytes;
        const auto step = reader_.step(answer_);
        using Status = http::wire::ResponseReader::Status;
        if (step.status == Status::need_more) {
            // Interim answers (1xx) are used up here.
            answer_.erase(0, step.used);
            return;
        }
        const int status = reader_.start().status;
        if (step.status != Status::head) return refuse("the proxy's answer is no HTTP");
        if (status < 200 || status > 299) {
            return refuse("the proxy answered " + std::to_string(status));
        }
        become_open(step.used);
    }
    // A 2xx to CONNECT has no body: what follows its head is the server's.
    void become_open(std::size_t used) {
        open_ = true;
        const std::string first = std::exchange(answer_, {}).substr(used);
        below_->set_receiving(receiving_);
        // First, because above TLS it starts the handshake, to which the bytes that came with the
        // head cannot be an answer. Both calls may close; neither destroys us, as connections end
        // with the turn.
        if (std::exchange(waits_, false)) observer_->on_sent(0);
        if (!first.empty()) observer_->on_received(first);
    }
    void on_receive_failed(int error) override {
        open_ ? observer_->on_receive_failed(error) : refuse("the proxy reset the connection");
    }
    void on_sent(std::int64_t result) override {
        if (open_) return observer_->on_sent(result);
        if (result >= 0 && !request_.empty()) send_request();
    }
    void refuse(std::string why) {
        // A close of the proxy's after its refusal would otherwise be a second failure.
        if (std::exchange(refused_, true)) return;
        if (refusal_ != nullptr) *refusal_ = std::move(why);
        below_->set_receiving(false);
        observer_->on_receive_failed(-ECONNREFUSED);
    }

    std::unique_ptr<net::Transport> below_;
    net::Transport::Observer* observer_ = nullptr;
    core::SendQueue request_;
    http::wire::ResponseReader reader_{{.head_bytes_max = answer_bytes_max}};
    std::shared_ptr<std::string> refusal_;
    std::string answer_;
    bool open_ = false;
    bool refused_ = false;
    bool receiving_ = false;
    bool waits_ = false;  // a send from above
};

std::unexpected<ClientFault> refuse(ClientFault::Kind kind, std::string why) {
    return std::unexpected(ClientFault(kind, std::move(why)));
}

}  // namespace

std::unique_ptr<net::Transport> make_tunnel(core::BlockPool& blocks,
                                            std::unique_ptr<net::Transport> below,
                                            const TunnelOptions& options) {
    std::string request =
        "CONNECT " + options.place + " HTTP/1.1\r\nHost: " + options.place + "\r\n";
    if (!options.authorization.empty()) {
        request += "Proxy-Authorization: " + options.authorization + "\r\n";
    }
    return std::make_unique<Tunnel>(blocks, std::move(below), request + "\r\n", options.refusal);
}

task::Task<ClientResult<tcp::Dialed>> dial_server(task::Runner& runner, ServerWay way) {
    using Kind = ClientFault::Kind;
    const std::string url = (way.secure ? "https://" : "http://") + way.place;
    std::shared_ptr<tcp::ClientLayer> layer;
    if (way.secure && way.security == nullptr) co_return refuse(Kind::tls, url + ": no TLS here");
    if (way.secure) {  // before anything is opened for it
        auto made = way.security->layer(runner);
        if (!made) co_return refuse(Kind::tls, made.error().message());
        layer = std::move(*made);
    }
    if (way.proxy != nullptr && way.proxy->place.empty()) {
        co_return refuse(Kind::connect, url + ": its proxy is no http URL");
    }
    tcp::ConnectOptions options;
    options.timeout = way.timeout;
    if (way.to.empty()) way.to = way.proxy != nullptr ? way.proxy->place : way.place;
    auto dialed = co_await tcp::dial(way.to, options);
    if (!dialed) co_return refuse(Kind::connect, dialed.error().message());
    if (way.proxy != nullptr && way.tunnels) {
        const TunnelOptions tunnel{way.place, way.proxy->authorization, way.refusal};
        dialed->transport =
            make_tunnel(runner.loop().blocks(), std::move(dialed->transport), tunnel);
    }
    // TLS goes inside the tunnel: the proxy sees the server's name and port, and nothing else.
    if (layer != nullptr) {
        dialed->transport = layer->wrap(std::move(dialed->transport), way.host);
        dialed->layer = std::move(layer);
        if (dialed->transport == nullptr) {
            co_return refuse(Kind::tls, url + ": no certificate can be for this name");
        }
    }
    co_return std::move(*dialed);
}

}  // namespace tiderace::http
