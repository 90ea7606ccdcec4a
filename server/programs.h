// Programs: which requests go to programs (--cgi, --fastcgi), and which to the served folder.
//
// Owner    The worker; one per loop.
// Thread   The loop's.
// Errors   create() fails where a folder of programs is none, or where the source of a program
//          would be sent: as a file, as the page of --spa or of an error, or under a clean URL.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "server/options.h"
#include "tiderace/base/result.h"
#include "tiderace/http/cgi/cgi.h"
#include "tiderace/http/cgi/fastcgi.h"
#include "tiderace/http/handler.h"

namespace tiderace::server {

class Programs final : public http::Handler {
  public:
    // `places` is shared by all loops; `rest` outlives this.
    static Result<std::unique_ptr<Programs>> create(
        core::EventLoop& loop, const ServeOptions& options,
        std::shared_ptr<http::cgi::ProgramPlaces> places, http::Handler& rest);

    // Whether the options name any.
    static bool wanted(const ServeOptions& options) {
        return !options.cgi.folders.empty() || !options.cgi.fastcgi.empty();
    }

    void handle(http::Exchange& exchange) override;

  private:
    explicit Programs(http::Handler& rest) : rest_(&rest) {}
    Result<> add(core::EventLoop& loop, const ServeOptions& options, const FastCgiRoute& route);
    Result<> check_pages(const ServeOptions& options) const;
    bool is_source(std::string_view path) const;

    http::Handler* rest_;
    std::vector<std::unique_ptr<http::cgi::Cgi>> cgi_;
    std::vector<std::unique_ptr<http::cgi::FastCgi>> fastcgi_;
    std::vector<std::string> scripts_;  // globs: these files are read by a FastCGI peer
};

}  // namespace tiderace::server
