// SocketWorld: a World over loopback TCP, on one of the real engines. The kernel is real, the clock
// is the test's: waiting for bytes takes real time, waiting for deadlines takes none.
#pragma once

#include <string_view>
#include <vector>

#include "tiderace/testing/world.h"

namespace tiderace::testing {

class SocketWorld final : public World {
  public:
    // The real time that run_until() waits before it gives up; never reached when all is well.
    static constexpr Duration patience = 60s;

    explicit SocketWorld(std::string_view engine);
    ~SocketWorld() override;

    using World::connect;
    std::unique_ptr<Peer> connect(const core::Address& to) override;
    bool run_until(unique_function<bool()> done) override;
    void settle() override;
    void advance(Duration by) override;

  private:
    class SocketPeer;

    void turn(Duration wait);

    std::vector<SocketPeer*> peers_;
};

}  // namespace tiderace::testing
