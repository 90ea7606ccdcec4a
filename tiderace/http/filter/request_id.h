// RequestId: puts a request's id (Request::id) on its answer: "X-Request-Id: 018f3c…".
//
// Owner    The program; one per loop.
// Thread   The loop's.
// Keywords: X-Request-Id, Request-Id, correlation
#pragma once

#include "tiderace/http/stages.h"

namespace tiderace::http::filter {

class RequestId final : public AccessRule, public ResponseFilter {
  public:
    // `trust_client`: every client's own id counts, as a trusted proxy's does.
    explicit RequestId(bool trust_client = false) : trust_client_(trust_client) {}

    Verdict check(Exchange& exchange) override;
    void filter(Exchange& exchange, Response& response) override;

  private:
    bool trust_client_;
};

}  // namespace tiderace::http::filter
