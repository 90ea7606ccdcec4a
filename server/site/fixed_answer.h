// FixedAnswer: what answers a path in the place of files (PathAnswer): a redirect, a text, an
// error. What follows the path follows a redirect's target, and so does the query, unless it is to
// lead all to one place.
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

class FixedAnswer final : public http::Handler {
  public:
    explicit FixedAnswer(PathAnswer answer) : answer_(std::move(answer)) {}

    void handle(http::Exchange& exchange) override;

  private:
    std::string location(const http::Request& request) const;

    PathAnswer answer_;
};

// A path that would be redirected for ever, with each place on the way: "/a -> /b -> /a". "": there
// is none. An address is not followed, even where it is one of this server's.
std::string redirect_circle(const std::vector<PathAnswer>& answers);

}  // namespace tiderace::server
