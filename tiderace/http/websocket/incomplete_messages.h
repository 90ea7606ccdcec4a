// IncompleteMessages: what the sockets of a service hold of messages that have not arrived whole,
// and one bound for all of it. A peer may send the rest as slowly as it likes, so the limit of each
// message is none for all.
//
//   collect() -> grown() -> within bytes_max -> held
//                       \-> above -> sockets of at least the average, the oldest message first, are
//                                    closed with 1008, until a sixteenth of the room is free
//
// Owner    A WebSocketService. A Message: its socket, which ends before the service.
// Thread   The loop's.
// Limits   WebSocketOptions::incomplete_bytes_max, or one message_bytes_max where that is more.
#pragma once

#include <cstddef>
#include <string>

#include "tiderace/base/intrusive_list.h"
#include "tiderace/base/thread_role.h"

namespace tiderace::http {

class WebSocketConnection;

class IncompleteMessages final {
  public:
    class Message final : private ListHook {
      public:
        Message(IncompleteMessages& all, WebSocketConnection& socket)
            : all_(&all), socket_(&socket) {
            all.all_.push_back(*this);
            ++all.count_;
        }
        ~Message() {
            --all_->count_;
            all_->bytes_ -= counted_;
        }

        std::string bytes;

      private:
        friend class IncompleteMessages;
        template <typename T>
        friend class tiderace::IntrusiveList;

        IncompleteMessages* all_;
        WebSocketConnection* socket_;
        std::size_t counted_ = 0;
    };

    explicit IncompleteMessages(std::size_t bytes_max) : bytes_max_(bytes_max) {}

    std::size_t bytes() const { return bytes_; }
    // After bytes were added to it. Its socket may be closed then, which ends it.
    void grown(Message& message) TR_ON_LOOP;

  private:
    void make_room() TR_ON_LOOP;

    const std::size_t bytes_max_;
    std::size_t bytes_ = 0;
    std::size_t count_ = 0;
    IntrusiveList<Message> all_;  // the oldest first
};

}  // namespace tiderace::http
