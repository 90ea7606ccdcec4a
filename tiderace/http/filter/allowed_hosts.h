// AllowedHosts: only requests for names of this server are answered. The page of another site,
// whose name leads here, would otherwise read all that this server gives (DNS rebinding).
//
// "localhost", all below it (RFC 6761, 6.3) and IP addresses are always allowed: no one can make
// them lead elsewhere.
//
// Owner    The program; one per loop.
// Thread   The loop's.
// Errors   421 (RFC 9110, 15.5.20), with a sentence.
// Keywords: Host, server_name, DNS rebinding, 421, allowed hosts
#pragma once

#include <string>
#include <vector>

#include "tiderace/http/stages.h"

namespace tiderace::http::filter {

class AllowedHosts final : public AccessRule {
  public:
    // "example.org", or "*.example.org" for all below it; a port counts for nothing.
    explicit AllowedHosts(std::vector<std::string> names, std::string sentence = default_sentence);

    Verdict check(Exchange& exchange) override;

    static constexpr const char* default_sentence = "This server has another name.\n";

  private:
    bool allows(ByteView host) const;

    std::vector<std::string> names_;
    std::string sentence_;
};

}  // namespace tiderace::http::filter
