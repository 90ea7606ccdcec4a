// FixedAnswer: what answers a path in the place of files (FixedReply): a redirect, a text, an
// error.
//
//   /old -> /new{rest}     /old/a%20b?c  ->  308  Location: /new/a%20b?c
//   /docs -> https://d.example/v2{rest}   /docs/x  ->  https://d.example/v2/x
//   /feed -> /feed.xml     /feed?c  ->  /feed.xml
//
// Owner    The site of a loop.
// Thread   The loop's.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "server/site/route.h"
#include "tiderace/http/handler.h"

namespace tiderace::server {

class FixedAnswer final : public http::Handler {
  public:
    // `match` is where it stands; without a path for the whole site.
    explicit FixedAnswer(FixedReply reply, http::RouteMatch match = {})
        : reply_(std::move(reply)), match_(std::move(match)) {}

    void handle(http::Exchange& exchange) override;
    // The Location of a redirect. nullopt: a variable has no value for this request.
    std::optional<std::string> location(const http::Request& request) const;

  private:
    FixedReply reply_;
    http::RouteMatch match_;
};

// A path that would be redirected for ever, with each place on the way: "/a -> /b -> /a". "": there
// is none. An address is not followed, even where it is one of this server's.
std::string redirect_circle(const std::vector<Route>& routes);

}  // namespace tiderace::server
