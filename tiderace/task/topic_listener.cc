#include "tiderace/task/topic_listener.h"

namespace tiderace::task {

Task<SharedMessage> TopicQueue::next() {
    const auto message = co_await messages_.receive();
    if (!message) co_return nullptr;
    bytes_ -= (*message)->weight();
    co_return *message;
}

void TopicQueue::on_messages(TopicBatch& batch) {
    for (const SharedMessage& message : batch.messages) {
        if (bytes_ + message->weight() > bytes_max_) {
            messages_.close();
            return leave();  // now: its task may take long to come back
        }
        messages_.try_send(SharedMessage(message));
        bytes_ += message->weight();
    }
}

}  // namespace tiderace::task
