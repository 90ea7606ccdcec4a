// Topics: one to many. Sockets join topics; a published message goes to every member, on all loops.
//
//   app.state<Topics>(topics());
//   app.ws<"/rooms/{name}">([](WebSocket& socket, std::string name, Topics& topics) -> Task<> {
//       if (!topics.join(socket, name)) co_return;
//       while (auto message = co_await socket.receive()) topics.publish(name, *message);
//   });
//   app.post<"/announce">([](Body body, Topics& topics) { topics.publish("news", body.text()); });
//
// Pages that only listen work without a socket: an event stream also follows a topic.
//
//   app.get<"/rooms/{name}/events">([](std::string name, Topics& topics) {
//       return topics.events(name);
//   });
//
// A socket leaves its topics when it ends. Messages of one turn are encoded once for all members.
// Messages of one loop arrive everywhere in their order.
//
// A member that takes its messages too slowly: WebSocketOptions::slow_receiver of its route.
// `close` is the default: 1008, as soon as queue_bytes_max are unsent. An event stream ends then
// (TopicEvents::queue_bytes_max), and never makes a publisher wait; browsers connect again.
//
// Owner    The App's states: one for each loop; all of one App belong together.
// Thread   Its loop's.
// Limits   TopicLimits; a name or a topic too many is refused by join(), and ends events() at once.
// Keywords: broadcast, pub/sub, fan-out
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "tiderace/http/app/stream.h"
#include "tiderace/http/websocket/socket.h"
#include "tiderace/http/websocket/topics.h"

namespace tiderace::http {

struct TopicEvents {
    std::string event = {};                 // the type of each event; "" is "message"
    std::size_t queue_bytes_max = 256_KiB;  // for a client that reads slowly; above it the end
    Duration keep_alive = 15s;              // without messages, a comment: finds gone clients
};

class Topics final {
  public:
    Topics(core::EventLoop& loop, std::shared_ptr<WebSocketHub> hub, const TopicLimits& limits);

    // False: a limit, or the socket has ended. Joining twice is once.
    bool join(WebSocket& socket, std::string_view topic);
    void leave(WebSocket& socket, std::string_view topic);

    void publish(std::string_view topic, std::string_view text);
    void publish(std::string_view topic, const WebSocketMessage& message);
    // As publish; with SlowReceiver::wait nothing more is read from `publisher` while a member is
    // behind.
    void publish_from(WebSocket& publisher, std::string_view topic,
                      const WebSocketMessage& message);

    // The texts that are published from the stream's start on, each the data of an event. Messages
    // that are binary are left out: an event stream is text.
    Events events(std::string topic, TopicEvents options = {});

    // Counts this loop only, sockets and event streams.
    std::size_t members(std::string_view topic) const { return topics_.subscribers(topic); }
    // Messages that another loop was too far behind to be given.
    std::uint64_t missed() const { return topics_.missed(); }

    void attach(WebSocketService& service) { topics_.attach(service); }  // for routes

  private:
    std::shared_ptr<WebSocketHub> hub_;
    WebSocketService service_;  // for what is encoded once
    WebSocketTopics topics_;
};

// For App::state().
std::function<std::unique_ptr<Topics>(core::EventLoop&)> topics(TopicLimits limits = {});

}  // namespace tiderace::http
