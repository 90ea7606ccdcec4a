#include "tiderace/http/websocket/incomplete_messages.h"

#include <vector>

#include "tiderace/http/websocket/connection.h"

namespace tiderace::http {

void IncompleteMessages::grown(Message& message) {
    bytes_ += message.bytes.size() - message.counted_;
    message.counted_ = message.bytes.size();
    if (bytes_ > bytes_max_) make_room();
}

// In one pass, so that a full room costs little for each byte that it takes.
void IncompleteMessages::make_room() {
    const std::size_t wanted = bytes_max_ - bytes_max_ / 16;
    const std::size_t average = bytes_ / count_;
    std::size_t left = bytes_;
    std::vector<WebSocketConnection*> refused;
    all_.for_each([&](Message& message) {
        if (left <= wanted || message.counted_ < average) return;
        left -= message.counted_;
        refused.push_back(message.socket_);
    });
    // Behind the walk, because a socket that closes ends its message. Connections live until the
    // turn ends.
    for (WebSocketConnection* const socket : refused) socket->refuse_incomplete();
}

}  // namespace tiderace::http
