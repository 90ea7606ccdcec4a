// Internal. ConnectionRoom: the number of connections that all loops of a program may have
// together. The kernel chooses the loop of a connection by a hash, which is uneven: with a maximum
// for each loop, one would refuse newcomers while the others have room.
//
// Owner    Shared by the TcpServers of all loops.
// Thread   Any. Touched when a connection comes and when it goes, never for a request.
// Limits   connections_max, never passed by enter(). A lower one closes nothing: it refuses
//          newcomers until enough connections have ended.
// Keywords: maximum connections, C10K
#pragma once

#include <atomic>
#include <cstddef>

#include "tiderace/base/check.h"

namespace tiderace::net {

class ConnectionRoom {
  public:
    explicit ConnectionRoom(std::size_t connections_max) : connections_max_(connections_max) {}

    // False: there is no room.
    bool enter() {
        const std::size_t before = taken_.fetch_add(1, std::memory_order_relaxed);
        if (before < connections_max_.load(std::memory_order_relaxed)) return true;
        leave();
        return false;
    }
    // For a connection that is not to be refused.
    void enter_anyway() { taken_.fetch_add(1, std::memory_order_relaxed); }
    void leave() {
        TR_CHECK(taken_.fetch_sub(1, std::memory_order_relaxed) > 0, "more left than entered");
    }
    void set_connections_max(std::size_t connections_max) {
        connections_max_.store(connections_max, std::memory_order_relaxed);
    }
    std::size_t taken() const { return taken_.load(std::memory_order_relaxed); }

  private:
    std::atomic<std::size_t> connections_max_;
    std::atomic<std::size_t> taken_ = 0;
};

}  // namespace tiderace::net
