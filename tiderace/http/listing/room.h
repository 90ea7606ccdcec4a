// Internal. ListingRoom: what all listings that one loop makes and sends take together. A peer
// requests one with a few bytes, and may then take as long as it likes to read it.
//
// Owner    Shared by the handler and its listings.
// Thread   Listings: the loop's. Names: any, because the pool collects them.
// Errors   enter() and keep_name() are false where there is no room.
// Limits   ListingLimits.
#pragma once

#include <atomic>
#include <cstddef>

#include "tiderace/base/check.h"
#include "tiderace/http/places.h"

namespace tiderace::http::listing {

struct ListingLimits {
    std::size_t listings_max = 256;   // of a loop, from the request to the last byte; more are 503
    std::size_t sorted_max = 10'000;  // entries of a directory; one with more is shown unsorted
    // Names kept for all listings together, beyond names_free of each. Without room for its names a
    // directory is shown unsorted.
    std::size_t names_max = 100'000;
    std::size_t names_free = 256;
};

class ListingRoom {
  public:
    explicit ListingRoom(const ListingLimits& limits)
        : limits_(limits), listings_(limits.listings_max) {}

    const ListingLimits& limits() const { return limits_; }

    // Room for one more listing of this client, until leave().
    bool enter(const core::ClientKey& client) {
        if (!listings_.has_room_for(client)) return false;
        listings_.take(client);
        return true;
    }
    void leave(const core::ClientKey& client) { listings_.give_back(client); }

    // Room for the name of a listing that has `kept` already, until drop_names().
    bool keep_name(std::size_t kept) {
        if (kept >= limits_.sorted_max) return false;
        return kept < limits_.names_free || take(names_, limits_.names_max);
    }
    void drop_names(std::size_t kept) {
        if (kept > limits_.names_free) give_back(names_, kept - limits_.names_free);
    }

    std::size_t listings() const { return listings_.taken(); }
    std::size_t names() const { return names_; }

  private:
    static bool take(std::atomic<std::size_t>& of, std::size_t max) {
        if (of.fetch_add(1, std::memory_order_relaxed) < max) return true;
        of.fetch_sub(1, std::memory_order_relaxed);
        return false;
    }
    static void give_back(std::atomic<std::size_t>& of, std::size_t count) {
        const std::size_t before = of.fetch_sub(count, std::memory_order_relaxed);
        TR_CHECK(before >= count, "more was given back than was taken");
    }

    const ListingLimits limits_;
    Places listings_;
    std::atomic<std::size_t> names_ = 0;
};

}  // namespace tiderace::http::listing
