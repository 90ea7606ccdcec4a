#include "tiderace/http/app/websocket/socket_endpoint.h"

#include "tiderace/base/moment.h"
#include "tiderace/http/websocket/accept.h"
#include "tiderace/task/topics.h"

namespace tiderace::http::app_parts {

SocketPart::SocketPart(const WebSocketOptions& options, LayerPlace& place)
    : service_(place.loop, options), runner_(&place.runner) {
    void* const topics = place.states.find(state_key<Topics>, false);
    if (topics != nullptr) service_.attach(*static_cast<Topics*>(topics));
}

SocketPart::~SocketPart() = default;

void SocketPart::accept(Exchange& exchange, std::unique_ptr<ServedSocket> made, task::Task<> task) {
    made->tree_ = exchange.tree();
    WebSocketState& state = made->socket().state();
    SocketPart& part = *made->part_;
    const wire::WebSocketRefusal refusal = accept_websocket(exchange, part.service_, state);
    // The answer may have failed already, and no task begins for a closed socket.
    if (refusal != wire::WebSocketRefusal::none || !state.opened()) return;
    made->index_ = part.served_.size();
    part.served_.push_back(std::move(made));
    part.served_.back()->start(*part.runner_, std::move(task));
}

ServedSocket::ServedSocket(SocketPart& part) : part_(&part), socket_(*new WebSocketState) {
    socket_.state().set_observer(this);
}

// The task uses the socket, which is a member and would end before it.
ServedSocket::~ServedSocket() {
    end_frame();
}

void ServedSocket::on_done(std::exception_ptr failure) {
    if (failure) {
        task::log_failure(part_->runner_->loop().log(), failure);
        // 1011 (RFC 6455, 7.4.1): the peer learns that the server failed, and may come back later.
        socket_.close(wire::websocket_close::internal_error);
    }
    remove();
}

void ServedSocket::on_ended(bool waiting) {
    // No operation will report the end to the task, and the peer is gone, so it ends here.
    if (!waiting && socket_.close_code() == wire::websocket_close::abnormal) return remove();
    core::EventLoop& loop = part_->runner_->loop();
    loop.assert_on_loop();
    // The task has the time of a close handshake to end by itself; then it is destroyed at its
    // await.
    loop.arm(*this, moment_after(loop.now(), part_->service_.options().close_timeout));
}

// Destroys this, once no task is running.
void ServedSocket::remove() {
    // Several children of the task may be stuck before it ends.
    if (std::exchange(removed_, true)) return;
    auto& all = part_->served_;
    // The last one takes the place, so that removing works without a search.
    all.back()->index_ = index_;
    std::swap(all[index_], all.back());
    std::unique_ptr<ServedSocket> self = std::move(all.back());
    all.pop_back();
    part_->runner_->destroy_later(std::move(self));
}

void ComingSocket::answer_value(Exchange& exchange, task::Runner& runner) {
    auto ready = take_value();
    exchange.set_deadline(Instant::max());  // it was the arguments'
    if (!ready) return std::move(ready.error()).answer(exchange, runner);
    SocketPart::accept(exchange, std::move(ready->first), std::move(ready->second));
}

std::shared_ptr<void> SocketEndpoint::make_part(LayerPlace& place) const {
    return std::make_shared<SocketPart>(options_, place);
}

SocketPart& SocketEndpoint::part(Call& call) const {
    return *static_cast<SocketPart*>(call.part);
}

}  // namespace tiderace::http::app_parts
