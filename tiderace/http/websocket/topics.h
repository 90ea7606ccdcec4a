// Internal. TopicSubscription: one socket in one topic (task/topics.h). What a turn published there
// is encoded once for all sockets that share a form.
//
// Owner    The connection. Leaves the topic when it ends.
// Thread   The loop's.
// Errors   A socket that is too slow: SlowReceiver. A fault ends the socket it happened at.
#pragma once

#include "tiderace/http/websocket/connection.h"
#include "tiderace/task/topic_listener.h"

namespace tiderace::http {

class TopicSubscription final : public task::TopicListener {
  public:
    explicit TopicSubscription(WebSocketConnection& socket) : socket_(&socket) {}

  private:
    void on_messages(TopicBatch& batch) override;
    void on_failed() override;

    WebSocketConnection* socket_;
};

}  // namespace tiderace::http
