// RequestId: a name for each request, on its answer: "X-Request-Id: 018f3c…" of 128 random bits.
//
// Owner    The program; one per loop.
// Thread   The loop's.
// Limits   A client's own id is kept on request only: 1 to id_bytes_max of letters, digits, "-_.".
//          Other characters could forge lines of a log.
// Keywords: X-Request-Id, trace id, correlation
#pragma once

#include <cstdint>
#include <string>

#include "tiderace/base/random.h"
#include "tiderace/http/stages.h"

namespace tiderace::http::filter {

class RequestId final : public ResponseFilter {
  public:
    static constexpr std::size_t id_bytes_max = 64;

    // `trust_client`: where a proxy in front sets the id.
    explicit RequestId(bool trust_client = false);

    void filter(Exchange& exchange, Response& response) override;

  private:
    bool trust_client_;
    Random random_;  // unique, not secret
};

}  // namespace tiderace::http::filter
