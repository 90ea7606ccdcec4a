#include "tiderace/http/app/websocket/topic_events.h"

#include "tiderace/task/topic_listener.h"
#include "tiderace/task/within.h"

namespace tiderace::http {

Events events(Topics& topics, std::string topic, TopicEvents options) {
    TopicQueue queue(topics, topic, options.queue_bytes_max);
    for (;;) {
        const auto message = co_await task::within(options.keep_alive, queue.next());
        Event event{.event = options.event};
        if (!message) {
            event.comment = "keep-alive";
        } else if (*message == nullptr) {
            co_return;
        } else if ((*message)->is_text) {
            event.data = (*message)->payload;
        } else {
            continue;
        }
        co_yield event;
    }
}

}  // namespace tiderace::http
