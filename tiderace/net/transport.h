// Transport: one ordered byte stream each way between two ends. TCP and Unix sockets, TLS over
// either, a test's pipe. What lies above it (Connection) sees bytes and never sockets.
//
// Owner    One Connection.
// Thread   Its loop's.
// Errors   Reported once as -errno; after it nothing more comes.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "tiderace/base/bytes.h"
#include "tiderace/base/units.h"
#include "tiderace/core/backend.h"
#include "tiderace/core/send_queue.h"

namespace tiderace::net {

// Facts of an encrypted connection. Views are the layer's own strings and live as long as the
// transport.
struct TransportSecurity {
    std::string_view protocol;  // what ALPN chose: "h2", "http/1.1"; "" for nothing
    std::string_view version;   // "TLSv1.3"
    std::string_view cipher;    // "TLS_AES_128_GCM_SHA256"
    std::string server_name;    // the name that the client requested (SNI), lower case; "" for none
    std::string client;         // the verified client certificate's subject, which may be empty
    bool client_verified = false;  // there is such a certificate
    bool resumed = false;
};

// A socket's settings. Unset ones stay as they are.
struct SocketOptions {
    std::optional<bool> no_delay = std::nullopt;        // TCP_NODELAY; on by default
    std::optional<Duration> keep_alive = std::nullopt;  // probes after this long a silence; 0: none
    std::size_t send_buffer_bytes = 0;                  // of the kernel's; 0: its own choice
    std::size_t receive_buffer_bytes = 0;

    bool operator==(const SocketOptions&) const = default;
};

class Transport {
  public:
    // The layer above, called on the loop.
    class Observer {
      public:
        // Bytes, gone on return. Empty: the peer ended its direction, nothing more will come.
        virtual void on_received(ByteView bytes) = 0;
        virtual void on_receive_failed(int error) = 0;
        // As core::IoObserver::on_sent.
        virtual void on_sent(std::int64_t result) = 0;
        // The handshake is done and security() is final. Once, before the first byte; never on a
        // plain transport.
        virtual void on_secured() {}

      protected:
        ~Observer() = default;
    };

    virtual ~Transport() = default;

    // Call before anything else; the observer outlives the transport.
    virtual void open(Observer& observer) = 0;
    virtual void set_receiving(bool on) = 0;
    // Sends from the front of a queue that is not empty, and consumes what was taken.
    virtual core::Sent send(core::SendQueue& queue) = 0;
    // Ends our direction after all sent bytes; the other goes on.
    virtual void finish() = 0;
    // All was sent and a close() follows, so this end is orderly: TLS sends close_notify. After any
    // other close() the peer sees that the stream was cut.
    virtual void say_end() {}
    // Closes both. `unsent` is dropped as soon as the kernel cannot read it any more.
    virtual void close(core::SendQueue&& unsent) = 0;
    // The next close() resets the connection instead of ending it in order.
    virtual void set_reset_on_close() = 0;
    // The bytes that send() took and that the peer's system did not acknowledge yet: they show
    // whether a peer reads; the bytes that our kernel takes do not. 0: unknown.
    virtual std::uint64_t unacknowledged_bytes() const { return 0; }
    // Bytes that it keeps in blocks of the loop's pool, besides those in the queue above.
    virtual std::uint64_t held_bytes() const { return 0; }
    // False: there is no socket below, or it refuses.
    virtual bool tune(const SocketOptions& /*options*/) { return false; }
    // nullptr: a plain connection. Fixed once the first byte was received; before, it may be
    // nullptr.
    virtual const TransportSecurity* security() const { return nullptr; }
    // Why its handshake failed, for people; "" where it did not. The text never ends.
    virtual std::string_view failure() const { return {}; }
};

// Makes a transport out of the one below it: TLS over TCP. It outlives its transports.
class TransportLayer {
  public:
    virtual std::unique_ptr<Transport> wrap(std::unique_ptr<Transport> below) = 0;

  protected:
    ~TransportLayer() = default;
};

}  // namespace tiderace::net
