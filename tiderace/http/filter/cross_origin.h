// CrossOrigin: refuses requests that another site's page makes a browser send (CSRF), without
// tokens: browsers report where a request comes from.
//
//   GET, HEAD, OPTIONS                                    pass: they change nothing
//   CONNECT                                               pass: a WebSocket's route decides
//   Sec-Fetch-Site: same-origin, none                     pass
//   Sec-Fetch-Site: same-site, cross-site                 403, unless Origin is trusted
//   no Sec-Fetch-Site, Origin of this host                pass
//   no Sec-Fetch-Site, another Origin                     403, unless it is trusted
//   neither                                               pass: no browser sends that
//
// All browsers since 2023 send Sec-Fetch-Site over HTTPS, and Origin with every POST since 2020.
// Cookies should be SameSite=Lax or stricter beside it, as ours are.
//
// Owner    The program; one per loop.
// Thread   The loop's.
// Keywords: CSRF, Sec-Fetch-Site, Origin
#pragma once

#include <string>
#include <vector>

#include "tiderace/http/stages.h"

namespace tiderace::http::filter {

class CrossOrigin final : public AccessRule {
  public:
    // "https://example.org": origins whose pages may.
    explicit CrossOrigin(std::vector<std::string> trusted = {}) : trusted_(std::move(trusted)) {}

    Verdict check(Exchange& exchange) override;

  private:
    bool may_pass(const Request& request) const;

    std::vector<std::string> trusted_;
};

}  // namespace tiderace::http::filter
