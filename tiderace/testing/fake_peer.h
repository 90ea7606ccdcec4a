// FakePeer: a peer of the fake network, as fast, slow or erratic as the test chooses.
//
// Owner    The test. It may go before or after the other end.
// Thread   One. It acts in events of the network, never inside a call of the other side.
#pragma once

#include <cstdint>
#include <limits>

#include "tiderace/testing/fake/network.h"
#include "tiderace/testing/world.h"

namespace tiderace::testing {

class FakePeer final : public Peer {
  public:
    // At most so many bytes every so often. As it stands: all at once.
    struct Pace {
        std::size_t bytes = std::numeric_limits<std::size_t>::max();
        Duration every{};
    };

    // Connects to `to`; while the queue there is full, tries again each second, as TCP does.
    FakePeer(FakeNetwork& network, core::Address to);
    ~FakePeer() override;

    // A drip, and a slow reader.
    void set_saying_pace(Pace pace) { saying_ = pace; }
    void set_hearing_pace(Pace pace) { hearing_ = pace; }

    bool connected() const { return socket_ != nullptr; }
    // There was no listener.
    bool refused() const { return refused_; }
    // Bytes that were sent and have left.
    std::uint64_t said() const { return said_; }

    void say(ByteView bytes) override;
    void finish() override;
    void close() override;
    void reset() override;
    void set_listening(bool on) override;
    const std::string& heard() const override { return heard_; }
    bool ended() const override { return ended_; }
    bool was_reset() const override { return was_reset_; }

  private:
    void dial();
    void act_in(Duration wait);
    void act();
    // Each tells whether it would go on if its pace let it.
    bool say_some();
    bool hear_some();

    FakeNetwork* network_;
    core::Address to_;
    std::shared_ptr<FakeSocket> socket_;
    std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);  // for events that come after it
    Pace saying_;
    Pace hearing_;
    Instant say_next_{};
    Instant hear_next_{};
    Instant act_at_ = Instant::max();  // the earliest event asked for
    std::string to_say_;
    std::string heard_;
    std::uint64_t said_ = 0;
    bool refused_ = false;
    bool finishing_ = false;
    bool closed_ = false;
    bool listening_ = true;
    bool ended_ = false;
    bool was_reset_ = false;
};

}  // namespace tiderace::testing
