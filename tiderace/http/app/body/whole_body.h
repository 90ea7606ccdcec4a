// WholeBody: a body that is read whole, and its part of the bound for all that its loop reads so.
//
//   on_body -> keep() -> within the bound -> held
//                   \-> above it -> the client that sends most is answered 503 (core/budget.h)
//
// Owner    The exchange, as its body receiver.
// Thread   The loop's.
// Limits   AppOptions::bodies_bytes_max, and more where a route's limit is larger.
// Keywords: request body, 413, body limit
#pragma once

#include <string>
#include <utility>

#include "tiderace/core/budget.h"
#include "tiderace/http/exchange.h"

namespace tiderace::http::app_parts {

class WholeBody : public BodyReceiver, private core::Budget::Holder {
  protected:
    WholeBody(core::Ref<core::Budget> all, Exchange& exchange)
        : Holder(std::move(all), *exchange.request().peer), exchange_(&exchange) {}

    // False: the request was answered meanwhile.
    bool keep(ByteView bytes);
    ByteView held() const { return body_; }
    // The held bytes: from here on the caller's, and no part of the bound.
    std::string take();

  private:
    void refuse() override;

    Exchange* exchange_;
    std::string body_;
    bool refused_ = false;
};

}  // namespace tiderace::http::app_parts
