// FixedAnswer: what answers a path in the place of files (FixedReply): a redirect, a text, an
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
#include <string_view>
#include <utility>
#include <vector>

#include "server/site/route.h"
#include "tiderace/http/handler.h"

namespace tiderace::server {

class FixedAnswer final : public http::Handler {
  public:
    // `path` is where it stands, without a pattern: "/old"; "" for the whole site.
    explicit FixedAnswer(FixedReply reply, std::string_view path = {})
        : reply_(std::move(reply)), path_(path) {}

    void handle(http::Exchange& exchange) override;
    // Of a redirect.
    std::string location(const http::Request& request) const;

  private:
    FixedReply reply_;
    std::string path_;
};

// A path that would be redirected for ever, with each place on the way: "/a -> /b -> /a". "": there
// is none. An address is not followed, even where it is one of this server's.
std::string redirect_circle(const std::vector<Route>& routes);

}  // namespace tiderace::server
