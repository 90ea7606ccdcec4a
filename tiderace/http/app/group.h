// Internal. Group: routes below a prefix, or of a host, with middleware of their own.
//
//   auto api = app.group("/api").use(rate_limit({.per_minute = 600}));
//   api.get<"/users/{id}">(show_user);                                  // /api/users/{id}
//   app.group<"/orgs/{org}">().get<"/members/{id}">([](Org org, int id) { … });
//
// The pattern "/" in a group is the prefix alone: /api, and not /api/, which is another path.
//
// Owner    A value that borrows its App, which stays where it is meanwhile.
// Thread   As App.
// Keywords: virtual host, prefix, mount
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tiderace/http/app/pages/error_page.h"
#include "tiderace/http/app/routes.h"

namespace tiderace::http {

class App;

namespace app_parts {

// Where in an App a group's routes go.
struct Scope {
    App* app;
    std::uint32_t number;

    Scope inner(std::string prefix) const;
    void use(Middleware middleware) const;
    void set_error_page(CheckedErrorPage page) const;
    void add(wire::Method method, route::PlacedPattern pattern, std::size_t parameters,
             std::unique_ptr<Endpoint> endpoint, std::vector<Middleware> middleware) const;
    void add_files(route::PlacedPattern prefix, const std::string& folder,
                   std::vector<Middleware> middleware) const;
    void add_cgi(route::PlacedPattern prefix, const std::string& folder) const;
    void add_fastcgi(route::PlacedPattern pattern, const std::string& address,
                     const std::string& root) const;

  private:
    // What a handler takes off the path, or gives its programs as SCRIPT_NAME.
    std::string whole_prefix(std::string_view what, const std::string& prefix) const;
    void fault(std::string_view what, const std::string& prefix, const std::string& why) const;
};

}  // namespace app_parts

template <std::size_t prefix_parameters>
class Group : public Routes<Group<prefix_parameters>, prefix_parameters> {
  public:
    Group& use(Middleware middleware) {
        scope_.use(std::move(middleware));
        return *this;
    }
    using Routes<Group, prefix_parameters>::use;
    // As App::error_page, for the routes of the group and all paths below its prefix.
    template <typename F>
    Group& error_page(F make) {
        scope_.set_error_page(app_parts::error_page(std::move(make)));
        return *this;
    }
    // As of App, below the group's prefix, which has no parameters then. A glob's files are found
    // by the whole path.
    Group& files(route::PlacedPattern prefix, const std::string& folder,
                 std::vector<Middleware> middleware = {}) {
        scope_.add_files(std::move(prefix), folder, std::move(middleware));
        return *this;
    }
    Group& cgi(route::PlacedPattern prefix, const std::string& folder) {
        scope_.add_cgi(std::move(prefix), folder);
        return *this;
    }
    Group& fastcgi(route::PlacedPattern pattern, const std::string& address,
                   const std::string& root = "") {
        scope_.add_fastcgi(std::move(pattern), address, root);
        return *this;
    }
    Group group(std::string prefix) { return Group(scope_.inner(std::move(prefix))); }
    template <route::PatternText prefix>
    auto group() {
        constexpr std::size_t parameters = route::count_parameters(prefix);
        return Group<prefix_parameters + parameters>(scope_.inner(std::string(prefix.view())));
    }

  private:
    friend class App;
    template <std::size_t>
    friend class Group;
    friend class Routes<Group, prefix_parameters>;
    explicit Group(app_parts::Scope scope) : scope_(scope) {}
    Group& add_route(wire::Method method, route::PlacedPattern pattern, std::size_t parameters,
                     std::unique_ptr<app_parts::Endpoint> endpoint,
                     std::vector<Middleware> middleware) {
        scope_.add(method, std::move(pattern), parameters, std::move(endpoint),
                   std::move(middleware));
        return *this;
    }

    app_parts::Scope scope_;
};

}  // namespace tiderace::http
