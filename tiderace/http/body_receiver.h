// Internal. BodyReceiver: given a request's body as it arrives. Exchange::receive_body takes one.
//
//   on_body … on_body [on_trailer …] on_body_end      all of it came
//   on_body … on_body_failed                          it will not be completed
//   on_body … (destroyed)                             withdrawn, or one of these threw
//
// Owner    The exchange, until it has reported the end, or is withdrawn. A call that is on the
//          stack is finished first.
// Thread   The loop's.
// Errors   An exception ends the exchange: 500 where no answer began.
#pragma once

#include "tiderace/base/bytes.h"

namespace tiderace::http {

class Exchange;

class BodyReceiver {
  public:
    virtual ~BodyReceiver() = default;
    // Bytes, gone on return; never empty.
    virtual void on_body(Exchange& exchange, ByteView bytes) = 0;
    // A trailer field, after the last byte. Never merged into the head.
    virtual void on_trailer(Exchange&, ByteView /*name*/, ByteView /*value*/) {}
    // All of it was given. Answers, or defers, or 500 is answered.
    virtual void on_body_end(Exchange& exchange) = 0;
    // It will not be completed: the peer is gone, too slow, or broke the framing. An answer is
    // under way where one can still be given; respond() does nothing any more.
    virtual void on_body_failed(Exchange& exchange) = 0;
};

}  // namespace tiderace::http
