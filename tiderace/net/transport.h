// Transport: one ordered byte stream each way between two ends. TCP and Unix sockets, TLS over
// either, a test's pipe. What lies above it (Connection) sees bytes and never sockets.
//
// Owner    One Connection.
// Thread   Its loop's.
// Errors   Reported once as -errno; after it nothing more comes.
#pragma once

#include <cstdint>

#include "tiderace/base/bytes.h"
#include "tiderace/core/backend.h"
#include "tiderace/core/send_queue.h"

namespace tiderace::net {

class Transport {
  public:
    // The layer above, told from the loop.
    class Observer {
      public:
        // Bytes, gone on return. Empty: the peer ended its direction, nothing more will come.
        virtual void on_received(ByteView bytes) = 0;
        virtual void on_receive_failed(int error) = 0;
        // As core::IoObserver::on_sent.
        virtual void on_sent(std::int64_t result) = 0;

      protected:
        ~Observer() = default;
    };

    virtual ~Transport() = default;

    // Before anything else; the observer outlives the transport.
    virtual void open(Observer& observer) = 0;
    virtual void set_receiving(bool on) = 0;
    // Sends from the front of a queue that is not empty, and consumes what was taken.
    virtual core::Sent send(core::SendQueue& queue) = 0;
    // Ends our direction after what was sent; the other goes on.
    virtual void finish() = 0;
    // Closes both. `unsent` is dropped as soon as the kernel cannot read it any more.
    virtual void close(core::SendQueue&& unsent) = 0;
    // The next close() resets the connection instead of ending it in order.
    virtual void set_reset_on_close() = 0;
};

}  // namespace tiderace::net
