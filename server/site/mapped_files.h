// MappedFiles: files whose names are not the paths of their requests: a part of the path is taken
// away or put before it, names are tried in turn, and scripts stand among the files.
//
//   strip "/static"                /static/a.css   ->  /a.css
//   prefix "/{host.1}"             a.example, /x   ->  /a/x
//   try {path}, {path}/, /i.php    /news/7         ->  /i.php, which a FastCGI peer runs
//
// The path of a file is found once, after the routes were chosen: it chooses no other route.
//
// Owner    The worker's content of a site.
// Thread   The loop's.
// Errors   404 where a variable has no sound value for the request.
// Keywords: try_files, rewrite, alias
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "server/programs.h"
#include "server/site/route.h"
#include "server/site/variables.h"
#include "tiderace/http/handler.h"
#include "tiderace/http/handler/static_files.h"

namespace tiderace::server {

class MappedFiles final : public http::Handler {
  public:
    // `files` and `programs` outlive it; nullptr: there are none. `match` is the route's
    // (variables.h).
    MappedFiles(http::handler::StaticFiles* files, Programs* programs, FileSettings settings,
                http::RouteMatch match, std::vector<std::string> index)
        : files_(files),
          programs_(programs),
          settings_(std::move(settings)),
          match_(std::move(match)),
          index_(std::move(index)) {}

    void handle(http::Exchange& exchange) override;
    // The names that are tried, in their order.
    std::vector<std::string> names(const http::Request& request) const;

  private:
    VariableValues values_of(const http::Request& request) const;
    std::optional<std::string> mapped(const http::Request& request) const;
    std::optional<std::string> tried(std::size_t number, const http::Request& request,
                                     const std::string& mapped) const;
    bool serve_if_there(http::Exchange& exchange, const std::string& path);
    void serve(http::Exchange& exchange, const std::string& path);

    http::handler::StaticFiles* files_;
    Programs* programs_;
    FileSettings settings_;
    http::RouteMatch match_;
    std::vector<std::string> index_;  // scripts among these names stand for their folder
};

}  // namespace tiderace::server
