// Internal. Site: what answers requests, as one tree. Fronts make it (App, the flags of `tiderace
// serve`); all loops read it.
//
//   host (exact, wildcard, every other)
//     scope "/"          settings: middleware, limits, access log
//       scope "/api"     … and its own; the nearest wins
//         endpoint       a method and a pattern, and what makes its handler on a loop
//
// A request is matched once, by host, method and path (route/router.h). SiteLoop runs the stages.
//
// Owner    Its front and the loops that serve it, together (SiteLoop::replace).
// Thread   One while it is made; constant from then on, and read by any.
// Errors   add(): a sentence.
#pragma once

#include <cstddef>
#include <cstdint>
#include <expected>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "tiderace/base/shared_function.h"
#include "tiderace/http/handler.h"
#include "tiderace/http/layer.h"
#include "tiderace/http/route/placed_pattern.h"
#include "tiderace/http/route/router.h"
#include "tiderace/http/site_routes.h"

namespace tiderace::http {

class Site {
  public:
    static constexpr std::uint32_t no_scope = UINT32_MAX;

    struct Scope {
        std::uint32_t parent = no_scope;  // no_scope: nothing of another scope holds here
        std::uint32_t host = 0;
        std::string prefix = {};  // the whole of it
        std::vector<Setting> settings = {};
        // Its filter gives errors a page: it runs before all other filters, and before the pages of
        // outer scopes.
        Setting::Make error_pages = {};
        bool asks_nobody = false;   // no rule of an outer scope runs before its endpoints
        bool is_of_routes = false;  // it counts with the routes that hold (site_routes.h)
    };
    struct Endpoint {
        std::string pattern;
        route::Place place = {};
        wire::Method method = wire::Method::other;  // other: each that has no endpoint of its own
        std::uint32_t scope = 0;
        shared_function<std::shared_ptr<Handler>(LayerPlace&)> make;
        bool is_websocket = false;  // its request may be an extended CONNECT (RFC 8441), too
        // The pattern is a literal path, without a '/' at its end: for it and all below, and every
        // method; "": all.
        bool is_prefix = false;
        // What its handler answers, "GET, HEAD", for a preflight; "": every method, or those of the
        // path's endpoints.
        std::string methods = {};
        // Routes inside it, whose settings count for their requests, and which may answer these.
        std::shared_ptr<const SiteRoutes> routes = {};
    };

    Site();

    // "api.example.org", or "*.example.org" for all below it; without its port, in any case of
    // letters.
    std::uint32_t host(std::string name);
    // Another name of a host; false: the name has a host already.
    bool add_name(std::uint32_t host, std::string name);
    std::uint32_t add_scope(std::uint32_t parent, std::string prefix);
    std::expected<void, std::string> add(Endpoint endpoint);
    // One that only routes lead to; its number.
    std::uint32_t add_for_routes(Endpoint endpoint);
    // All of another site inside a scope of this one.
    std::expected<void, std::string> mount(std::uint32_t inside, Site&& other);

    // Called before a request is matched: it may find out whose it is, by which routes choose.
    shared_function<void(Exchange&)> before_match = {};
    // Its rule runs before every other, in all scopes.
    Setting::Make before_all = {};
    // What metrics and logs call the host of every name that has none of its own.
    std::string name_of_others = {};

    Scope& scope(std::uint32_t number) { return scopes_[number]; }
    const std::vector<Scope>& scopes() const { return scopes_; }  // the first: all else is inside
    Endpoint& endpoint(std::uint32_t number) { return endpoints_[number]; }
    const std::vector<Endpoint>& endpoints() const { return endpoints_; }
    const std::string& host_name(std::uint32_t host) const {
        return host == 0 ? name_of_others : hosts_[host].name;
    }
    // What the settings say about logs: each once.
    std::vector<AccessLogTarget> access_logs() const;

    // The endpoint's number is Found::route.
    route::Found find(ByteView authority, wire::Method method, ByteView path,
                      route::Parameters& parameters) const {
        return router_for(authority).find(method, path, parameters);
    }

  private:
    struct Host {
        std::string name = {};  // the first of its names; "": every other
        route::Router router = {};
    };
    struct NameHash : std::hash<std::string_view> {
        using is_transparent = void;
    };

    const route::Router& router_for(ByteView authority) const {
        // Nearly every site has one host: its requests need not look at the name at all.
        return hosts_.size() == 1 ? hosts_[0].router : router_among(authority);
    }
    const route::Router& router_among(ByteView authority) const;

    std::vector<Host> hosts_;  // the first: all hosts without endpoints of their own
    // By their names; ".example.org": all below it.
    std::unordered_map<std::string, std::uint32_t, NameHash, std::equal_to<>> names_;
    std::size_t longest_suffix_ = 0;  // of the names that begin with a dot
    std::vector<Scope> scopes_;
    std::vector<Endpoint> endpoints_;
};

}  // namespace tiderace::http
