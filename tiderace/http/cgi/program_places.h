// ProgramPlaces: how many programs may run at a time, for all loops, and the queue for them.
//
//   ask() -> now
//         -> later: on_granted() on the asker's loop, in the order of asking, except for clients
//            that have their share (http/places.h); or on_displaced(), for a newcomer's client that
//            waits less often
//         -> full
//   give_back() for each one that was had
//
// Owner    Shared by the handlers of all loops.
// Thread   Any: a lock, held for a few instructions. Starting a program costs a thousand times
//          that.
// Errors   A loop that refuses posts loses its turn to the next asker.
// Limits   places_max, waiting_max.
// Keywords: 503, concurrency limit
#pragma once

#include <cstddef>
#include <deque>
#include <memory>
#include <mutex>

#include "tiderace/core/event_loop.h"
#include "tiderace/http/places.h"

namespace tiderace::http::cgi {

class ProgramPlaces final : public std::enable_shared_from_this<ProgramPlaces> {
  public:
    // Waits for a place. Owned by its asker; its end gives up waiting, or the place that is on its
    // way.
    class Waiter {
      public:
        Waiter(std::shared_ptr<ProgramPlaces> places, core::EventLoop& loop);
        virtual ~Waiter();
        Waiter(const Waiter&) = delete;
        Waiter& operator=(const Waiter&) = delete;

        enum class Outcome : unsigned char { now, later, full };
        // Once at a time, for a request of this client.
        Outcome ask(const core::ClientKey& client);
        // Passes the place on, after `now` or on_granted().
        void give_back();
        // Waits no more. Nothing where it does not wait.
        void cancel();

      private:
        friend class ProgramPlaces;
        struct Asked;

        // On the loop, after `later`.
        virtual void on_granted() = 0;
        // The same: it waits no more, and has no place.
        virtual void on_displaced() = 0;

        std::shared_ptr<ProgramPlaces> places_;
        core::EventLoop* loop_;
        std::shared_ptr<Asked> asked_;
        core::ClientKey client_;  // of the last ask()
    };

    ProgramPlaces(std::size_t places_max, std::size_t waiting_max)
        : places_(places_max), waiting_max_(waiting_max) {}

    // Programs above a lower number run to their end; a larger one admits waiting requests.
    void set_places_max(std::size_t places_max);
    std::size_t taken() const;
    std::size_t waiting() const;

  private:
    void pass_on(const core::ClientKey& from);
    void give_out();
    std::shared_ptr<Waiter::Asked> take_for_next();
    bool displace_for(const core::ClientKey& newcomer);

    mutable std::mutex lock_;  // guards all below
    Places places_;
    const std::size_t waiting_max_;
    std::deque<std::shared_ptr<Waiter::Asked>> queue_;
};

}  // namespace tiderace::http::cgi
