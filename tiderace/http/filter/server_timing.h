// ServerTiming: how long a request took until its answer began, for clients of listed networks:
//
//   Server-Timing: total;dur=1.234                       milliseconds
//
// The time of an answer can reveal secrets, so other clients get no field.
//
// Owner    The site; one per loop.
// Thread   The loop's.
// Keywords: Server Timing (W3C), performance
#pragma once

#include <utility>
#include <vector>

#include "tiderace/http/stages.h"
#include "tiderace/net/network.h"

namespace tiderace::http::filter {

class ServerTiming final : public ResponseFilter {
  public:
    explicit ServerTiming(std::vector<net::Network> of) : of_(std::move(of)) {}

    void filter(Exchange& exchange, Response& response) override;

  private:
    std::vector<net::Network> of_;
};

}  // namespace tiderace::http::filter
