// Internal. Places: a number of places that clients share so that none of them has all: of the last
// quarter, a client gets one only while it holds less than a quarter. For what cannot be taken back
// from its holder: a program that runs, a listing that is being read (bytes that are held can:
// core/budget.h).
//
// Owner    The object that sets the number.
// Thread   Its owner's.
// Errors   take() of a client that holds none throws std::bad_alloc where thousands hold some.
// Limits   places_max; below four there is no quarter to keep.
// Memory   32 bytes a place.
// Keywords: concurrency limit, fairness, 503
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <vector>

#include "tiderace/core/budget.h"

namespace tiderace::http {

class Places {
  public:
    explicit Places(std::size_t places_max);

    // Places above a lower number stay with their holders until these give them back.
    void set_places_max(std::size_t places_max);
    std::size_t taken() const { return taken_; }
    // How many more the client may have now.
    std::size_t room_for(const core::ClientKey& client) const;
    bool has_room_for(const core::ClientKey& client) const { return room_for(client) > 0; }
    void take(const core::ClientKey& client);
    void give_back(const core::ClientKey& client);

  private:
    std::size_t places_max_ = 0;
    std::size_t taken_ = 0;
    struct Held {
        core::ClientKey client;
        std::size_t places;
    };
    std::vector<Held> held_;  // more than none
};

// Which waiter of a full queue, in its order, gives way to a newcomer: the last one of
// the client that waits most often. nullopt: the newcomer's own client waits as often.
std::optional<std::size_t> who_gives_way(std::span<const core::ClientKey> waiting,
                                         const core::ClientKey& newcomer);

}  // namespace tiderace::http
