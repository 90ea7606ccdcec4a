#include "tiderace/http/client/client_connection.h"

#include <algorithm>
#include <utility>

namespace tiderace::http {

ClientConnection::ClientConnection(ClientConnections& all, tcp::Dialed dialed, bool secure,
                                   std::string place)
    : all_(&all),
      place_(std::move(place)),
      layer_(std::move(dialed.layer)),
      connection_({}, *this, std::move(dialed.transport), std::move(dialed.peer)),
      secure_(secure) {
    connection_.start(*this);
}

core::EventLoop& ClientConnection::loop() {
    return all_->loop();
}

void ClientConnection::begin(ClientExchange& exchange) {
    TR_CHECK(exchange_ == nullptr && !gone_, "two requests at once on a connection of HTTP/1.1");
    exchange_ = &exchange;
    reader_.next(exchange.to_head);
    touched_ = request_sent_ = answer_ended_ = false;
    connection_.set_deadline(Instant::max());
}

void ClientConnection::end_request() {
    request_sent_ = true;
    if (answer_ended_) finish_exchange(true);
}

// The answer is not wanted any more, and it cannot be skipped without reading it.
void ClientConnection::give_up() {
    exchange_ = nullptr;
    connection_.close(net::CloseReason::aborted);
    go();
}

void ClientConnection::retire() {
    connection_.close(net::CloseReason::idle_expired);
    go();
}

void ClientConnection::go() {
    if (std::exchange(gone_, true)) return;
    if (observer_ != nullptr) observer_->on_gone(*this);
}

void ClientConnection::fail(ClientFault::Kind kind, std::string message) {
    ClientExchange* const exchange = std::exchange(exchange_, nullptr);
    if (!connection_.closing()) connection_.close(net::CloseReason::aborted);
    go();
    if (exchange != nullptr) exchange->on_failed({kind, place_ + ": " + message}, touched_);
}

std::size_t ClientConnection::on_data(net::Connection&, ByteView data) {
    using Status = wire::ResponseReader::Status;
    std::size_t used = 0;
    while (exchange_ != nullptr && !answer_ended_) {
        touched_ = true;
        const auto step = reader_.step(data.substr(used));
        used += step.used;
        switch (step.status) {
            case Status::need_more:
                return used;
            case Status::head:
                if (reader_.start().status == 101) {
                    fail(ClientFault::Kind::bad_answer, "it changes to a protocol not asked for");
                    return data.size();
                }
                exchange_->on_head(reader_.start().status, step.data);
                break;
            case Status::data:
                exchange_->on_data(step.data);
                break;
            case Status::done:
                answer_ended(used < data.size());
                return data.size();
            case Status::refused:
                fail(ClientFault::Kind::bad_answer, std::string(to_string(reader_.fault())));
                return data.size();
        }
    }
    // Bytes that answer nothing: the next request could take them for its answer.
    if (exchange_ == nullptr || answer_ended_) fail(ClientFault::Kind::bad_answer, "unasked bytes");
    return data.size();
}

void ClientConnection::answer_ended(bool more_came) {
    answer_ended_ = true;
    const bool reusable = reader_.start().keep_alive && !more_came;
    // An answer may come before the request was sent; an error is not worth sending the rest.
    const bool refused = reader_.start().status >= 300;
    if (request_sent_ || !reusable || refused) finish_exchange(request_sent_ && reusable);
}

void ClientConnection::finish_exchange(bool reusable) {
    ClientExchange* const exchange = std::exchange(exchange_, nullptr);
    used_ = true;
    if (!reusable) {
        connection_.close(net::CloseReason::aborted);
        go();
    } else {
        connection_.set_reading(true);
        if (observer_ != nullptr) observer_->on_idle(*this);
    }
    exchange->on_end();
}

void ClientConnection::on_drained(net::Connection&) {
    if (exchange_ != nullptr) exchange_->on_writable();
}

void ClientConnection::on_peer_finished(net::Connection&) {
    if (exchange_ != nullptr && !answer_ended_ && reader_.end_of_stream()) {
        answer_ended_ = true;
        return finish_exchange(false);
    }
    fail(ClientFault::Kind::closed, touched_ ? "the connection ended inside the answer"
                                             : "the connection ended before an answer");
}

void ClientConnection::on_deadline(net::Connection&) {
    retire();
}

void ClientConnection::on_close(net::Connection&, net::CloseReason reason) {
    const std::string why(to_string(reason));
    if (reason == net::CloseReason::write_stalled) {
        fail(ClientFault::Kind::timed_out, "the server takes nothing of the request");
    } else if (refusal_ != nullptr && !refusal_->empty()) {
        fail(ClientFault::Kind::connect, *refusal_);
    } else if (secure_ && !secured_) {
        fail(ClientFault::Kind::tls,
             "the TLS handshake failed; is its certificate valid for this name?");
    } else {
        fail(ClientFault::Kind::closed, touched_ ? "the connection ended inside the answer: " + why
                                                 : "the connection ended before an answer: " + why);
    }
}

void ClientConnection::release(net::Connection&, net::CloseReason) {
    all_->remove(*this);
}

const std::shared_ptr<ClientConnections>& ClientConnections::of(task::Runner& runner) {
    struct Kept {
        explicit Kept(task::Runner& r) : all(std::make_shared<ClientConnections>(r)) {}
        std::shared_ptr<ClientConnections> all;
    };
    return runner.local<Kept>().all;
}

ClientConnections::~ClientConnections() {
    for (const auto& each : all_) each->abort();
    while (!all_.empty()) loop().turn(Duration::zero());
}

ClientConnection& ClientConnections::add(tcp::Dialed dialed, bool secure, std::string place) {
    all_.push_back(
        std::make_unique<ClientConnection>(*this, std::move(dialed), secure, std::move(place)));
    return *all_.back();
}

void ClientConnections::forget(const ClientConnection::Observer& observer) {
    for (const auto& each : all_) {
        if (!each->is_observed_by(observer)) continue;
        each->set_observer(nullptr);
        each->abort();
    }
}

void ClientConnections::remove(ClientConnection& connection) {
    const auto found =
        std::ranges::find(all_, &connection, [](const auto& each) { return each.get(); });
    std::swap(*found, all_.back());
    all_.pop_back();
}

}  // namespace tiderace::http
