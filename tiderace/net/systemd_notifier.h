// Internal. SystemdNotifier: tells systemd what becomes of the server (sd_notify(3)), by its
// protocol: datagrams to the socket that NOTIFY_SOCKET names. Without that each call does nothing.
//
//   READY=1      all sockets listen           STOPPING=1   the drain has begun
//   WATCHDOG=1   all loops have had a turn since the last one (WatchdogSec= of the unit)
//
// Thread   Any.
// Errors   None: where systemd is gone, the service goes on.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "tiderace/base/units.h"
#include "tiderace/core/event_loop.h"
#include "tiderace/net/loop_group.h"

namespace tiderace::net {

class SystemdNotifier {
  public:
    SystemdNotifier();  // from the environment

    void tell(std::string_view state) const;
    // How long systemd waits for a WATCHDOG=1; zero: it does not.
    Duration patience() const { return patience_; }

  private:
    std::string socket_;  // a path, or '@' and an abstract name; "": none
    Duration patience_ = Duration::zero();
};

// Says that the service is alive, twice in the time that systemd waits, while each loop turns:
// one that hangs in a callback answers no client, and is what systemd restarts a service for.
//
// Owner    Serving. The loops stopped before it is destroyed.
// Thread   The first loop's.
class Heartbeat final : private core::Timer {
  public:
    Heartbeat(const SystemdNotifier& systemd, LoopGroup& loops);

  private:
    void on_expired() override;
    void wait();
    void ask_all();

    const SystemdNotifier* systemd_;
    LoopGroup* loops_;
    Duration interval_;
    std::atomic<std::size_t> waited_for_ = 0;  // loops that had no turn since ask_all()
    bool asked_all_ = true;
};

}  // namespace tiderace::net
