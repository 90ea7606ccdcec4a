// TransportPeer: the far end of any Transport, driven by a test: a pipe, TLS over a pipe, TCP.
//
// Owner    The test; it goes before the loop.
#pragma once

#include <memory>

#include "tiderace/net/transport.h"
#include "tiderace/testing/world.h"

namespace tiderace::testing {

class TransportPeer final : public Peer, private net::Transport::Observer {
  public:
    TransportPeer(core::EventLoop& loop, std::unique_ptr<net::Transport> transport);
    ~TransportPeer() override;

    void say(ByteView bytes) override;
    void finish() override;
    void close() override;
    void reset() override;
    void set_listening(bool on) override;
    const std::string& heard() const override { return heard_; }
    bool ended() const override { return ended_; }
    bool was_reset() const override { return error_ != 0; }
    // The -errno that ended it, or 0.
    int error() const { return error_; }

  private:
    void on_received(ByteView bytes) override;
    void on_receive_failed(int error) override;
    void on_sent(std::int64_t result) override;
    void send_some();

    core::EventLoop* loop_;
    std::unique_ptr<net::Transport> transport_;  // null: closed
    core::SendQueue queue_;
    std::string heard_;
    int error_ = 0;
    bool pending_ = false;
    bool finishing_ = false;
    bool finished_ = false;
    bool ended_ = false;
};

}  // namespace tiderace::testing
