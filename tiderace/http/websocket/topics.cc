#include "tiderace/http/websocket/topics.h"

#include <algorithm>
#include <array>
#include <utility>

#include "tiderace/base/check.h"

namespace tiderace::http {
namespace {

struct SharedFrames final : core::Shared {
    std::string bytes;
};
using Encoded = std::array<core::Ref<SharedFrames>, 16>;  // by shared_form()

wire::WebSocketOpcode opcode_of(const task::TopicMessage& message) {
    return message.is_text ? wire::WebSocketOpcode::text : wire::WebSocketOpcode::binary;
}

// As WebSocketConnection sends a message that stands alone.
void append_message(std::string& out, const task::TopicMessage& message, int form,
                    WebSocketService& service) {
    ByteView payload = message.payload;
    bool compressed = false;
    if (form != 0 && payload.size() >= service.options().deflate_bytes_min) {
        std::string& deflated = service.deflate_scratch();
        service.deflater(form).compress(payload, false, deflated);
        compressed = deflated.size() < payload.size();
        if (compressed) payload = deflated;
    }
    std::array<char, wire::websocket_head_bytes_max> head;
    const std::size_t size = wire::write_websocket_head(
        {.payload_bytes = payload.size(), .opcode = opcode_of(message), .compressed = compressed},
        head);
    out.append(head.data(), size).append(payload);
}

}  // namespace

void TopicSubscription::on_messages(TopicBatch& batch) {
    socket_->service().loop().assert_on_loop();
    socket_->take(batch);
}

void TopicSubscription::on_failed() {
    socket_->service().loop().assert_on_loop();
    socket_->connection().close(net::CloseReason::session_failed);
}

void WebSocketConnection::take(TopicBatch& batch) {
    // -1: a window or a mask of its own makes its bytes differ from the shared ones.
    const int form = shared_form();
    WebSocketSend result = WebSocketSend::sent;
    if (form < 0) {
        for (const task::SharedMessage& message : batch.messages) {
            result = send(message->is_text ? WebSocketKind::text : WebSocketKind::binary,
                          message->payload);
        }
    } else {
        if (batch.shared == nullptr) batch.shared = std::make_shared<Encoded>();
        auto& frames = (*static_cast<Encoded*>(batch.shared.get()))[static_cast<std::size_t>(form)];
        if (frames.get() == nullptr) {
            core::Ref<SharedFrames> made(new SharedFrames);
            for (const task::SharedMessage& message : batch.messages) {
                append_message(made->bytes, *message, form, *service_);
            }
            frames = std::move(made);
        }
        result = send_frames(frames->bytes, frames, batch.messages.size());
    }
    const bool waits = service_->options().slow_receiver == SlowReceiver::wait;
    if (waits && result == WebSocketSend::high && !std::exchange(behind_, true)) {
        service_->topics()->fell_behind();
    }
}

bool WebSocketConnection::join(Topics& topics, std::string_view topic) {
    TR_CHECK(service_->topics() == &topics, "topics of another loop, or not attached");
    if (connection_->closing()) return false;
    const auto is_this = [&](const auto& one) { return one->topic() == topic; };
    if (std::ranges::any_of(subscriptions_, is_this)) return true;
    if (subscriptions_.size() >= topics.limits().subscriptions_max) return false;
    auto made = std::make_unique<TopicSubscription>(*this);
    subscriptions_.reserve(subscriptions_.size() + 1);  // nothing fails after it has joined
    if (!made->join(topics, topic)) return false;
    subscriptions_.push_back(std::move(made));
    return true;
}

void WebSocketConnection::leave(Topics& topics, std::string_view topic) {
    topics.flush();  // earlier messages are for it
    std::erase_if(subscriptions_, [&](const auto& one) { return one->topic() == topic; });
}

void WebSocketConnection::publish(Topics& topics, std::string_view topic, WebSocketKind kind,
                                  ByteView message) {
    if (topics.publish(topic, message, kind == WebSocketKind::text) || !is_open()) return;
    topics.hold(*this);
}

void WebSocketConnection::on_failed() {
    connection_->close(net::CloseReason::session_failed);
}

void WebSocketService::attach(Topics& topics) {
    TR_CHECK(&topics.loop() == loop_);
    topics.attach(*this, options_.slow_receiver == SlowReceiver::wait);
}

}  // namespace tiderace::http
