#include "tiderace/http/app/websocket/topics.h"

#include <utility>

#include "tiderace/http/websocket/socket_state.h"

namespace tiderace::http {

Topics::Topics(core::EventLoop& loop, std::shared_ptr<WebSocketHub> hub, const TopicLimits& limits)
    : hub_(std::move(hub)), service_(loop, {}), topics_(service_, *hub_, limits) {}

bool Topics::join(WebSocket& socket, std::string_view topic) {
    // A socket that has closed has no connection, and left its topics with its close.
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
    // A message that was read just before the close still goes to the others, and the publisher,
    // whom it would leave out, is no longer among them.
    if (!publisher.open()) return publish(topic, message);
    service_.loop().assert_on_loop();
    topics_.publish_from(*publisher.state().connection(), topic, message.kind(), message.text());
}

std::function<std::unique_ptr<Topics>(core::EventLoop&)> topics(TopicLimits limits) {
    // One hub for all loops, which carries messages between them; each loop has its own Topics.
    return [hub = std::make_shared<WebSocketHub>(), limits](core::EventLoop& loop) {
        return std::make_unique<Topics>(loop, hub, limits);
    };
}

}  // namespace tiderace::http
