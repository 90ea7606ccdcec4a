// PathRedirect: 308 to another place for a path and all below it (--path-redirect). What follows
// the path follows the target, and so does the query.
//
//   /old -> /new           /old/a%20b?c  ->  308  Location: /new/a%20b?c
//   /docs -> https://d.example/v2         /docs/x  ->  https://d.example/v2/x
//
// The rest of the path is the canonical one, so a Location never begins with "//", which would lead
// to another server (RFC 3986, 4.2).
//
// Owner    PathRules.
// Thread   The loop's.
#pragma once

#include <string>
#include <utility>

#include "tiderace/http/site.h"

namespace tiderace::server {

class PathRedirect final : public http::AccessRule {
  public:
    PathRedirect(std::string prefix, std::string target)
        : prefix_(std::move(prefix)), target_(std::move(target)) {}

    Verdict check(http::Exchange& exchange) override;

  private:
    std::string prefix_;
    std::string target_;
};

}  // namespace tiderace::server
