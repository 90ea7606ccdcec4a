// events: a topic as an event stream, for pages that only listen.
//
//   app.state<Topics>(topics());
//   app.get<"/rooms/{name}/events">([](std::string name, Topics& topics) {
//       return events(topics, name);
//   });
//
// A stream whose client reads too slowly ends (TopicEvents::queue_bytes_max), and never makes a
// publisher wait; browsers connect again. A topic that a limit refuses ends it at once.
//
// Thread   The loop's.
// Keywords: broadcast, EventSource, server-sent events
#pragma once

#include <string>

#include "tiderace/http/app/stream.h"
#include "tiderace/task/topics.h"

namespace tiderace::http {

struct TopicEvents {
    std::string event = {};                 // the type of each event; "" is "message"
    std::size_t queue_bytes_max = 256_KiB;  // for a client that reads slowly; above it the end
    Duration keep_alive = 15s;              // without messages, a comment: finds gone clients
};

// The texts that are published from the stream's start on, each the data of an event. Messages that
// are binary are left out: an event stream is text.
Events events(Topics& topics, std::string topic, TopicEvents options = {});

}  // namespace tiderace::http
