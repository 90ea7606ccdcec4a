// PathRedirect: 308 to another place for a path and all below it (--path-redirect). What follows
// the path follows the target, and so does the query.
//
//   /old -> /new           /old/a%20b?c  ->  308  Location: /new/a%20b?c
//   /docs -> https://d.example/v2         /docs/x  ->  https://d.example/v2/x
//
// The rest of the path is the canonical one, so a Location never begins with "//", which would lead
// to another server (RFC 3986, 4.2).
//
// Owner    The site of a loop.
// Thread   The loop's.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "server/site/path_options.h"
#include "tiderace/http/handler.h"

namespace tiderace::server {

class PathRedirect final : public http::Handler {
  public:
    PathRedirect(std::string prefix, std::string target)
        : prefix_(std::move(prefix)), target_(std::move(target)) {}

    void handle(http::Exchange& exchange) override;

  private:
    std::string prefix_;
    std::string target_;
};

// A path that would be redirected for ever, with each place on the way: "/a -> /b -> /a". "": there
// is none. An address is not followed, even where it is one of this server's.
std::string redirect_circle(const std::vector<PathRedirection>& redirects);

}  // namespace tiderace::server
