// Internal. SiteChains: the layers of a site's scopes on one loop, and the chains that they make
// (site_loop.h).
//
//   scope "/"       rate A, password A, field X          made once, when the loop gets the site
//     scope "/api"  password B, field Y                  -> chain: rate A, password B, X, Y
//
// Owner    The site's tree of a loop, which has the site.
// Thread   The loop's.
// Errors   LayerPlace::fault.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "tiderace/http/site.h"
#include "tiderace/http/site_loop.h"

namespace tiderace::http {

class SiteChains {
  public:
    SiteChains(const Site& site, LayerPlace& place);

    // Of this scope, and of the scopes around it.
    Chain chain_of(std::uint32_t scope) const { return chain_of(scope, {}); }
    // … and of these inside it, from the outside in.
    Chain chain_of(std::uint32_t scope, std::span<const std::uint32_t> inside) const;

  private:
    struct Made {
        const Setting* setting;
        Layer layer;
    };
    struct Parts {
        std::vector<Made> made;
        ResponseFilter* error_pages = nullptr;
    };
    // A setting of a scope that stands in the chain.
    struct Standing {
        const Made* made;
        bool is_asked;  // its rule runs: no scope inside turns it off
    };

    Layer make_layer(const Setting::Make& make, LayerPlace& place);
    Parts make_parts(const Site::Scope& scope, LayerPlace& place);
    std::vector<Standing> standing(std::span<const std::uint32_t> scopes) const;
    static void add(Chain& chain, const Standing& each, std::size_t first_rule);

    const Site* site_;
    std::vector<std::shared_ptr<void>> owned_;
    AccessRule* before_all_ = nullptr;
    std::vector<Parts> parts_;  // by scope
};

}  // namespace tiderace::http
