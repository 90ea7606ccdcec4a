// Internal. Session: the protocol on one connection, which gives it bytes and reports events.
//
// Owner    The protocol; not the connection. It lives until its on_close.
// Thread   The connection's loop. Each call may call anything on the connection.
// Errors   An exception is logged and closes this connection with session_failed, and no other.
// Keywords: protocol handler
#pragma once

#include <cstddef>

#include "tiderace/base/bytes.h"
#include "tiderace/base/thread_role.h"
#include "tiderace/core/send_queue.h"
#include "tiderace/net/close_reason.h"

namespace tiderace::net {

class Connection;

class Session {
  public:
    // Returns the bytes used, 0..data.size(); the rest comes again before newer bytes.
    // `data` is never empty. May call anything on the connection.
    virtual std::size_t on_data(Connection& connection, ByteView data) TR_ON_LOOP = 0;
    // After the handshake and before any data; never for plain connections. security() is final, so
    // that the Session can choose its protocol by ALPN.
    virtual void on_secured(Connection&) TR_ON_LOOP {}
    // The queue fell to queue_bytes_low from above queue_bytes_high, or after want_drained().
    virtual void on_drained(Connection&) TR_ON_LOOP {}
    // The peer will send no more, and on_data got everything it sent. Default: ends the connection
    // when the queue is sent.
    virtual void on_peer_finished(Connection& connection) TR_ON_LOOP;
    // The deadline of set_deadline() passed. Default: closes with deadline_expired.
    virtual void on_deadline(Connection& connection) TR_ON_LOOP;
    // The server stops: end when the work in progress is done, and everything that has arrived is
    // answered. Default: close_when_quiet().
    virtual void on_drain(Connection& connection) TR_ON_LOOP;
    // The file in front of the queue is too short. True: the Session has repaired the queue.
    virtual bool on_source_shrank(Connection&) TR_ON_LOOP { return false; }
    // Bytes that it keeps for the peer in blocks of the loop's pool, besides the connection's
    // queue.
    virtual core::HeldBytes held_bytes() const { return {}; }
    // No request is under way, so the connection may be closed for a newcomer when there are too
    // many.
    virtual bool is_idle() const { return false; }
    // It has authenticated its peer: where unsent bytes are too many, others go first.
    virtual bool is_trusted() const { return false; }
    // The last call, exactly once, after close() too. Drop every pointer to the connection here.
    virtual void on_close(Connection& connection, CloseReason reason) TR_ON_LOOP = 0;

  protected:
    ~Session() = default;
};

}  // namespace tiderace::net
