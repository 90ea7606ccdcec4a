// WaitingMessages: what the sockets of a service hold of messages that nothing has received, and
// one bound for all of it. Some have not arrived whole, and a peer may send the rest as slowly as
// it likes; some wait for a task that is busy. So the limits of each message and of each socket are
// none for all.
//
//   grow_to() -> within bytes_max -> held; above half of it is_scarce()
//            \-> above -> holders of at least the average, the oldest first, refuse(), until a
//                         sixteenth of the room is free
//
// Owner    A WebSocketService and every Holder, because a task may keep what it has not received
//          when its socket and the service have ended.
// Thread   The loop's.
// Limits   WebSocketOptions::waiting_bytes_max, or what one socket may hold where that is more.
#pragma once

#include <cstddef>
#include <utility>

#include "tiderace/base/intrusive_list.h"
#include "tiderace/base/thread_role.h"
#include "tiderace/core/shared.h"

namespace tiderace::http {

class WaitingMessages final : public core::Shared {
  public:
    class Holder : private ListHook {
      public:
        Holder() = default;
        explicit Holder(core::Ref<WaitingMessages> all) : all_(std::move(all)) {}
        virtual ~Holder() { shrink_to(0); }

        void join(core::Ref<WaitingMessages> all) { all_ = std::move(all); }
        // It holds so many bytes now. refuse() of any may be called, also of this one.
        void grow_to(std::size_t bytes) TR_ON_LOOP;
        void shrink_to(std::size_t bytes);

      private:
        friend class WaitingMessages;
        template <typename T>
        friend class tiderace::IntrusiveList;

        // To drop what it holds and end its socket, without a call of the application. May destroy
        // this one, and no other.
        virtual void refuse() TR_ON_LOOP = 0;

        core::Ref<WaitingMessages> all_;
        std::size_t bytes_ = 0;
    };

    explicit WaitingMessages(std::size_t bytes_max) : bytes_max_(bytes_max) {}

    std::size_t bytes() const { return bytes_; }
    // Time to push back on peers whose messages wait.
    bool is_scarce() const { return bytes_ > bytes_max_ / 2; }

  private:
    void make_room() TR_ON_LOOP;

    const std::size_t bytes_max_;
    std::size_t bytes_ = 0;
    std::size_t count_ = 0;
    IntrusiveList<Holder> all_;  // the oldest first
};

}  // namespace tiderace::http
