// Internal. Cors: lets scripts of other origins read the answers (the Fetch standard's CORS
// protocol).
//
//   preflight (OPTIONS with Origin and Access-Control-Request-Method) -> answered here with 204
//   any other request with Origin                                     -> fields added to its answer
//
// An origin that is not allowed gets its answer without the fields: the browser keeps it from the
// script. Add it to the site twice: as a rule and as a filter.
//
// Owner    The program; one per loop.
// Thread   The loop's.
// Keywords: CORS, preflight, Access-Control-Allow-Origin
#pragma once

#include <string>
#include <vector>

#include "tiderace/http/stages.h"

namespace tiderace::http::filter {

struct CorsOptions {
    // "https://example.org"; the single entry "*" allows all.
    std::vector<std::string> origins = {"*"};
    std::string methods = {};  // "GET, HEAD": these; "": the methods of the path's routes
    // "*" repeats the request of the preflight.
    std::string headers = "*";
    std::string exposed = {};  // Access-Control-Expose-Headers, "" for none
    // With credentials an origin is always named, never "*". Dangerous together with "*" above.
    bool credentials = false;
    Duration max_age = 10min;
};

class Cors final : public AccessRule, public ResponseFilter {
  public:
    explicit Cors(CorsOptions options);

    Verdict check(Exchange& exchange) override;
    void filter(Exchange& exchange, Response& response) override;

  private:
    bool allows(ByteView origin) const;

    CorsOptions options_;
    bool any_origin_;
    std::string max_age_;
};

}  // namespace tiderace::http::filter
