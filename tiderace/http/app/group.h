// Group: routes below a prefix, or of a host, with middleware of their own.
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
template <std::size_t prefix_parameters>
class Group;

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

// What an App and a group have besides a function for each method. Self::scope() is theirs.
template <typename Self, std::size_t prefix_parameters>
class Scoped : public Routes<Self, prefix_parameters> {
  public:
    // Runs for every request of the scope, also without a route, in the order of these calls.
    Self& use(Middleware middleware) {
        scope().use(std::move(middleware));
        return static_cast<Self&>(*this);
    }
    using Routes<Self, prefix_parameters>::use;
    // Routes below a prefix without parameters.
    Group<prefix_parameters> group(std::string prefix) {
        return Group<prefix_parameters>(scope().inner(std::move(prefix)));
    }
    // … with parameters, which its handlers take first.
    template <route::PatternText prefix>
    auto group() {
        constexpr std::size_t parameters = route::count_parameters(prefix);
        return Group<prefix_parameters + parameters>(scope().inner(std::string(prefix.view())));
    }
    // The files of a folder below a prefix, as http/handler/static_files.h serves them: conditions,
    // ranges, types, no hidden files. Routes come first. A group's prefix has no parameters then.
    Self& files(route::PlacedPattern prefix, const std::string& folder,
                std::vector<Middleware> middleware = {}) {
        scope().add_files(std::move(prefix), folder, std::move(middleware));
        return static_cast<Self&>(*this);
    }
    // Programs of a folder (http/cgi/cgi.h); a FastCGI peer, for all below a path or for scripts
    // of `root` that a glob names, by the whole path (http/cgi/fastcgi.h).
    Self& cgi(route::PlacedPattern prefix, const std::string& folder) {
        scope().add_cgi(std::move(prefix), folder);
        return static_cast<Self&>(*this);
    }
    Self& fastcgi(route::PlacedPattern pattern, const std::string& address,
                  const std::string& root = "") {
        scope().add_fastcgi(std::move(pattern), address, root);
        return static_cast<Self&>(*this);
    }
    // How errors are shown: a function of const ErrorAnswer& (http/app/pages/error_page.h). A
    // group's is for its routes and all paths below its prefix.
    template <typename F>
    Self& error_page(F make) {
        scope().set_error_page(app_parts::error_page(std::move(make)));
        return static_cast<Self&>(*this);
    }

  private:
    app_parts::Scope scope() { return static_cast<Self&>(*this).scope(); }
};

template <std::size_t prefix_parameters>
class Group : public Scoped<Group<prefix_parameters>, prefix_parameters> {
  private:
    friend class App;
    template <typename, std::size_t>
    friend class Routes;
    template <typename, std::size_t>
    friend class Scoped;

    explicit Group(app_parts::Scope scope) : scope_(scope) {}
    app_parts::Scope scope() const { return scope_; }

    app_parts::Scope scope_;
};

}  // namespace tiderace::http
