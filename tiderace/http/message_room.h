// MessageRoom: what a loop keeps in memory for peers that are slow, and one bound for all of it:
// bodies that are read whole, WebSocket messages that nothing has received. A peer may send a byte
// at a time for hours, so the limits of each body, message and socket are none for all.
//
//   grow_to() -> within bytes_max -> held; above half of it is_scarce()
//            \-> above -> holders of at least the average, the oldest first, refuse(), until a
//                         sixteenth of the room is free
//
// What is small passes, therefore, whatever others hold.
//
// Owner    Whoever sets the bound, and every Holder: a task may keep what it has not received when
//          its socket and the service have ended.
// Thread   The loop's.
#pragma once

#include <cstddef>
#include <utility>

#include "tiderace/base/intrusive_list.h"
#include "tiderace/base/thread_role.h"
#include "tiderace/core/shared.h"

namespace tiderace::http {

class MessageRoom final : public core::Shared {
  public:
    class Holder : private ListHook {
      public:
        Holder() = default;
        explicit Holder(core::Ref<MessageRoom> all) : all_(std::move(all)) {}
        virtual ~Holder() { shrink_to(0); }

        void join(core::Ref<MessageRoom> all) { all_ = std::move(all); }
        // It holds so many bytes now. refuse() of any may be called, also of this one.
        void grow_to(std::size_t bytes) TR_ON_LOOP;
        void shrink_to(std::size_t bytes);

      private:
        friend class MessageRoom;
        template <typename T>
        friend class tiderace::IntrusiveList;

        // To drop what it holds, shrink_to(), and end what it is held for, without a call of the
        // application. May destroy this holder and others.
        virtual void refuse() TR_ON_LOOP = 0;

        core::Ref<MessageRoom> all_;
        std::size_t bytes_ = 0;
    };

    explicit MessageRoom(std::size_t bytes_max) : bytes_max_(bytes_max) {}

    std::size_t bytes() const { return bytes_; }
    // Time to push back on peers.
    bool is_scarce() const { return bytes_ > bytes_max_ / 2; }

  private:
    void make_room() TR_ON_LOOP;

    const std::size_t bytes_max_;
    std::size_t bytes_ = 0;
    std::size_t count_ = 0;          // of holders with bytes: each is in one of the lists
    IntrusiveList<Holder> holders_;  // the oldest first
    IntrusiveList<Holder> refused_;  // whose refuse() is to be called
};

}  // namespace tiderace::http
