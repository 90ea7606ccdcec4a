#include "tiderace/http/app/websocket/topics.h"

#include <utility>

#include "tiderace/http/websocket/socket_state.h"
#include "tiderace/task/channel.h"
#include "tiderace/task/within.h"

namespace tiderace::http {
namespace {

// Messages that an event stream has still to get.
class EventQueue final : public TopicListener {
  public:
    using Message = std::shared_ptr<const TopicMessage>;

    explicit EventQueue(std::size_t bytes_max) : bytes_max_(bytes_max) {}

    // Empty: it was too slow, and has all that came in time.
    task::Task<Message> next() {
        const auto message = co_await messages_.receive();
        if (!message) co_return nullptr;
        bytes_ -= weight(**message);
        co_return *message;
    }

  private:
    // An empty message weighs something, too.
    static std::size_t weight(const TopicMessage& message) { return message.payload.size() + 64; }

    void on_message(const Message& message) override {
        if (message->kind != WebSocketKind::text || messages_.closed()) return;
        if (bytes_ + weight(*message) <= bytes_max_) {
            messages_.try_send(Message(message));
            bytes_ += weight(*message);
        } else {
            messages_.close();
            leave();  // now: the stream itself ends when its client reads again
        }
    }

    task::Channel<Message> messages_{SIZE_MAX};
    std::size_t bytes_ = 0;
    std::size_t bytes_max_;
};

}  // namespace

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

Events Topics::events(std::string topic, TopicEvents options) {
    EventQueue queue(options.queue_bytes_max);
    if (!topics_.listen(queue, topic)) co_return;
    for (;;) {
        const auto message = co_await task::within(options.keep_alive, queue.next());
        Event event{.event = options.event};
        if (!message) {
            event.comment = "keep-alive";
        } else if (*message == nullptr) {
            co_return;
        } else {
            event.data = (*message)->payload;
        }
        co_yield event;
    }
}

std::function<std::unique_ptr<Topics>(core::EventLoop&)> topics(TopicLimits limits) {
    // One hub for all loops, which carries messages between them; each loop has its own Topics.
    return [hub = std::make_shared<WebSocketHub>(), limits](core::EventLoop& loop) {
        return std::make_unique<Topics>(loop, hub, limits);
    };
}

}  // namespace tiderace::http
