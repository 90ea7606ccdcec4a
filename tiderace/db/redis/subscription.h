// subscribe: what other clients publish, as a generator.
//
//   auto messages = redis::subscribe(redis, {.channels = {"news"}, .patterns = {"room.*"}});
//   while (auto message = co_await messages.next()) {
//       if (message->restarted) …         // at first, and after a lost connection: read again what
//       show(message->channel, message->payload);      // may have been missed meanwhile
//   }
//
// It has a connection of its own, which is made again when it is lost, with pauses that grow.
// Messages that come while the reader is busy wait in a queue; where that is full the oldest are
// dropped, and `missed` of the next one is their number. The server is never made to wait.
//
// Owner    The task; the subscription ends with the generator.
// Thread   The loop's.
// Errors   Error{configuration}; connections are tried again for ever.
// Limits   Options::messages_max, message_bytes_max; silence_max.
// Keywords: SUBSCRIBE, PUBLISH, pub/sub
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tiderace/db/redis/client.h"
#include "tiderace/task/generator.h"

namespace tiderace::db::redis {

struct Message {
    std::string channel;
    std::string payload;
    std::string pattern = {};  // that it came by; "": the channel's own name
    std::uint64_t missed = 0;  // dropped in front of it
    bool restarted = false;    // no message: the subscription begins, or begins again
};

struct Channels {
    std::vector<std::string> channels = {};
    std::vector<std::string> patterns = {};
};

task::Generator<Message> subscribe(Client redis, Channels to);

}  // namespace tiderace::db::redis
