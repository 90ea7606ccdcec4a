// FakeWorld: a World on the fake network, under virtual time. One FaultPlan, one run.
#pragma once

#include <memory>
#include <vector>

#include "tiderace/testing/fake/network.h"
#include "tiderace/testing/fake/wait.h"
#include "tiderace/testing/fake_peer.h"
#include "tiderace/testing/world.h"

namespace tiderace::testing {

class FakeWorld final : public World {
  public:
    // The most time that run_until() lets pass before it gives up.
    static constexpr Duration run_max = 24h;

    // How its loop asks: by the fake poller, or as on BSD and macOS.
    enum class Asks : std::uint8_t { directly, by_kqueue };

    explicit FakeWorld(const FaultPlan& plan = {}, Asks asks = Asks::directly);
    ~FakeWorld() override;

    FakeNetwork& network() { return network_; }
    Random& random() { return network_.random(); }
    std::unique_ptr<FakePeer> connect_fake(const core::Address& to);
    std::unique_ptr<FakePeer> connect_fake() { return connect_fake(listening_at()); }
    // A loop that is driven by hand, request by request, does not spin.
    void forget_turns() { waiting_.forget_turns(); }
    // Virtual time since this world began.
    Duration elapsed() const { return clock_.now() - began_; }

    // Another loop on this network and under this clock. It ends before the world, and turns only
    // between the turns of the world's own.
    std::unique_ptr<core::EventLoop> make_loop();

    using World::connect;
    std::unique_ptr<Peer> connect(const core::Address& to) override;
    bool run_until(unique_function<bool()> done) override;
    void settle() override;
    void advance(Duration by) override;
    std::int64_t open_descriptors() const override;

  private:
    FakeNetwork network_;
    FakeWait waiting_;
    std::vector<std::unique_ptr<FakeWait>> others_waiting_;  // of make_loop()
    Instant began_;
};

}  // namespace tiderace::testing
