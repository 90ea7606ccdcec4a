#include "tiderace/http/app/websocket/topics.h"

#include <utility>

#include "tiderace/http/websocket/socket_state.h"

namespace tiderace::http {

Topics::Topics(core::EventLoop& loop, std::shared_ptr<WebSocketHub> hub, const TopicLimits& limits)
    : hub_(std::move(hub)), service_(loop, {}), topics_(service_, *hub_, limits) {}

bool Topics::join(WebSocket& socket, std::string_view topic) {
    return socket.open() && topics_.subscribe(*socket.state().connection(), topic);
}

void Topics::leave(WebSocket& socket, std::string_view topic) {
    if (socket.open()) topics_.unsubscribe(*socket.state().connection(), topic);
}

void Topics::publish(std::string_view topic, std::string_view text) {
    topics_.publish(topic, WebSocketKind::text, text);
}

void Topics::publish(std::string_view topic, const WebSocketMessage& message) {
    topics_.publish(topic, message.kind(), message.text());
}

void Topics::publish_from(WebSocket& publisher, std::string_view topic,
                          const WebSocketMessage& message) {
    if (!publisher.open()) return publish(topic, message);
    service_.loop().assert_on_loop();
    topics_.publish_from(*publisher.state().connection(), topic, message.kind(), message.text());
}

std::function<std::unique_ptr<Topics>(core::EventLoop&)> topics(TopicLimits limits) {
    return [hub = std::make_shared<WebSocketHub>(), limits](core::EventLoop& loop) {
        return std::make_unique<Topics>(loop, hub, limits);
    };
}

}  // namespace tiderace::http
