// Transport: one ordered byte stream each way between two ends. TCP and Unix sockets, TLS over
// either, a test's pipe. What lies above it (Connection) sees bytes and never sockets.
//
// Owner    One Connection.
// Thread   Its loop's.
// Errors   Reported once as -errno; after it nothing more comes.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "tiderace/base/bytes.h"
#include "tiderace/core/backend.h"
#include "tiderace/core/send_queue.h"

namespace tiderace::net {

// What a Transport that keeps secrets knows of its peer. Views are the layer's own words and live
// as long as the transport.
struct TransportSecurity {
    std::string_view protocol;  // what ALPN chose: "h2", "http/1.1"; "" for nothing
    std::string_view version;   // "TLSv1.3"
    std::string_view cipher;    // "TLS_AES_128_GCM_SHA256"
    std::string server_name;    // what the client asked for (SNI), lower case; "" for nothing
    std::string client;         // the verified client certificate's subject; "" without one
    bool resumed = false;
};

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
        // The layer below knows its peer now: security() is final. Once, before the first byte;
        // never where there is nothing to know.
        virtual void on_secured() {}

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
    // All was sent and a close() follows, which is an end in order: a layer with a word for that
    // (TLS: close_notify) says it. After any other close() the peer sees that the stream was cut.
    virtual void say_end() {}
    // Closes both. `unsent` is dropped as soon as the kernel cannot read it any more.
    virtual void close(core::SendQueue&& unsent) = 0;
    // The next close() resets the connection instead of ending it in order.
    virtual void set_reset_on_close() = 0;
    // Of `sent` bytes that send() has taken, how far the peer's side got: a number that grows when
    // it takes something. For a layer that takes more than it can pass on.
    virtual std::uint64_t progress(std::uint64_t sent) const { return sent; }
    // Bytes that it keeps in blocks of the loop's pool, beside what is in the queue above.
    virtual std::uint64_t held_bytes() const { return 0; }
    // nullptr: in clear text. Fixed once the first byte was received; before, it may be nullptr.
    virtual const TransportSecurity* security() const { return nullptr; }
};

// Makes a transport out of the one below it: TLS over TCP. Outlives what it made.
class TransportLayer {
  public:
    virtual std::unique_ptr<Transport> wrap(std::unique_ptr<Transport> below) = 0;

  protected:
    ~TransportLayer() = default;
};

}  // namespace tiderace::net
