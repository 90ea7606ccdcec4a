// Internal. SiteRoutes: the routes inside an endpoint of a site (site.h), compiled: which of them
// hold for a request, the nearest first.
//
//   path -> a list, which was made with the tree       most requests: two look-ups
//   patterns, conditions -> a list of this request's    where a site has such routes
//
// A regular expression that gives up (route/regex.h) ends the search: whether its route holds is
// not known, and that route may be what denies.
//
// Owner    The endpoint of the site.
// Thread   Constant; any, at once.
// Memory   A list for each path that routes name.
// Keywords: location
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "tiderace/http/route/router.h"
#include "tiderace/http/route_match.h"

namespace tiderace::http {

class SiteRoutes {
  public:
    static constexpr std::uint32_t none = UINT32_MAX;
    static constexpr std::uint32_t base = UINT32_MAX - 1;  // the endpoint that they are inside of
    static constexpr std::uint32_t gave_up = UINT32_MAX - 2;

    struct Route {
        RouteMatch match;
        std::uint32_t scope = 0;        // its settings, of Site::scopes()
        std::uint32_t endpoint = none;  // what answers, of Site::endpoints(); none: settings alone
        // It answers only in the place of this endpoint: the same files with other settings. `none`
        // with an endpoint: in the place of all that is less near.
        std::uint32_t refines = none;
        bool denies = false;  // it answers before other patterns that hold
    };
    // The route of a list that answers; nullptr: none does.
    const Route* answering(std::span<const std::uint32_t> list) const;
    // The nearest of the list that answers in the place of that one; nullptr: none does.
    const Route* refining(std::span<const std::uint32_t> list, const Route* answering) const;
    using List = std::vector<std::uint32_t>;  // of routes(), the nearest first

    explicit SiteRoutes(std::vector<Route> routes);

    // The nearest first.
    const std::vector<Route>& routes() const { return routes_; }
    // The number of a list that the path alone decides. `none`: `found` has this request's.
    // `gave_up`: `found` has the route whose expression did.
    std::uint32_t find(const Request& request, List& found) const;
    std::span<const List> lists() const { return lists_; }

  private:
    void add_lists();
    std::uint32_t add_list(List list);
    void find_globs(const Request& request, List& found) const;
    bool find_regexes(const Request& request, List& found) const;

    std::vector<Route> routes_;
    std::vector<List> lists_;        // the first is empty
    std::vector<bool> conditional_;  // by list: one of its routes has conditions
    route::Router paths_;            // finds a list
    // Those that are globs, with their texts close together: each request looks at all of them.
    struct Glob {
        std::uint32_t route;
        std::uint32_t bytes;
        char last;  // of its text
    };
    std::vector<Glob> globs_;
    std::vector<std::uint32_t> regexes_;
    std::string glob_texts_;
};

}  // namespace tiderace::http
