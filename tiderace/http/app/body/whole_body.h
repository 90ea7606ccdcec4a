// WholeBody: a body that is read whole, and its part of the bound for all that its loop reads so.
//
//   on_body -> keep() -> within the bound -> held
//                   \-> above it -> the larger ones, the oldest first, are answered 503
//
// Owner    The exchange, as its body receiver.
// Thread   The loop's.
// Limits   AppOptions::bodies_bytes_max, and more where a route's limit is larger (MessageRoom).
#pragma once

#include <string>
#include <utility>

#include "tiderace/http/exchange.h"
#include "tiderace/http/message_room.h"

namespace tiderace::http::app_parts {

class WholeBody : public BodyReceiver, private MessageRoom::Holder {
  protected:
    WholeBody(core::Ref<MessageRoom> all, Exchange& exchange)
        : Holder(std::move(all)), exchange_(&exchange) {}

    // False: the request was answered meanwhile.
    bool keep(ByteView bytes);
    ByteView held() const { return body_; }
    // What is held: from here on the caller's, and no part of the bound.
    std::string take();

  private:
    void refuse() override;

    Exchange* exchange_;
    std::string body_;
    bool refused_ = false;
};

}  // namespace tiderace::http::app_parts
