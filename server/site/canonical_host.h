// CanonicalHost: leads requests for the other names of a site to the one that it is known by: 308,
// with the path and the query as they came.
//
//   http://www.example.org:8080/a?b  ->  308  Location: http://example.org:8080/a?b
//
// Owner    The site of a loop.
// Thread   The loop's.
#pragma once

#include <optional>
#include <string>

#include "tiderace/http/stages.h"

namespace tiderace::server {

class CanonicalHost final : public http::AccessRule {
  public:
    explicit CanonicalHost(std::string host) : host_(std::move(host)) {}

    Verdict check(http::Exchange& exchange) override;
    // nullopt: the request stays.
    std::optional<std::string> location(const http::Request& request) const;

  private:
    std::string host_;
};

}  // namespace tiderace::server
