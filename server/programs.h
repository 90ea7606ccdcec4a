// Programs: what answers the routes that run programs (--cgi, --fastcgi).
//
// Owner    The worker; one per loop.
// Thread   The loop's.
// Errors   create() fails where a folder of programs is none, or where there is a source_fault().
#pragma once

#include <algorithm>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "server/options.h"
#include "tiderace/base/result.h"
#include "tiderace/http/cgi/cgi.h"
#include "tiderace/http/cgi/fastcgi.h"
#include "tiderace/http/handler.h"

namespace tiderace::server {

class Programs final {
  public:
    // `places` is shared by all loops.
    static Result<std::unique_ptr<Programs>> create(
        core::EventLoop& loop, const ServeOptions& options,
        std::shared_ptr<http::cgi::ProgramPlaces> places);

    // Whether the options name any.
    static bool wanted(const ServeOptions& options) {
        return std::ranges::any_of(options.routes, &Route::runs_programs);
    }

    // nullptr: the route runs no program.
    http::Handler* of_route(const http::RouteMatch& match) const;
    // Answers by a script of the root that the path of a file leads to: itself, or its folder's
    // index of these names. False: it is none, and the exchange is not touched.
    bool run_script(http::Exchange& exchange, std::string_view path,
                    std::span<const std::string> index);

  private:
    Programs() = default;

    struct OfRoute {
        http::RouteMatch match;
        std::unique_ptr<http::Handler> handler;
    };
    std::vector<OfRoute> by_route_;
    std::vector<http::cgi::FastCgi*> scripts_;  // patterns without conditions, the nearest first
};

// "/b/c" of the folders /a and /a/b/c; "" where the other one is not inside.
std::string place_inside(const std::string& folder, const std::string& other);

// Where the source of a program would be sent: as a file, as the page of --spa or of an error, or
// under a clean URL.
struct SourceFault {
    std::string_view key;  // of a file
    const Route* route;    // nullptr: the site's
    Error error;           // of a page: its file is the object
};
std::vector<SourceFault> source_faults(const ServeOptions& options);

// What must not be sent as a file, by its path: the sources of programs, whether the conditions of
// their route hold or not.
std::vector<std::string> program_sources(const ServeOptions& options);
// And what a peer answers at a path: no file either, also where its conditions do not hold.
std::vector<std::string> unsent_paths(const ServeOptions& options);

}  // namespace tiderace::server
