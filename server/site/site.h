// The sites of a server as one tree (http/site.h): the site of the flags, or the sites of a file.
// Each route (--path-auth and its like make some) has a scope; of those that hold for a request the
// nearest that has a setting of a kind decides, and fields and error pages alone add up.
//
//   request -> rate -> CORS -> passwords -> endpoint -> error pages -> CORS -> fields
//           -> compression -> answer
//
//   endpoint   what the nearest route answers, or the folder and its programs
//
// Owner    Assembly, as of the options, which outlive it; all loops share it.
// Thread   The main thread makes it. PasswordFile and RateTable are shared by all loops.
// Errors   load_passwords(): a file that cannot be read. Error pages: LayerPlace::fault, of a loop.
// Limits   routes_max for each site.
// Memory   A password rule holds up to 64 remembered credentials, a rate 512 KiB for all loops.
#pragma once

#include <cstddef>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "server/options.h"
#include "server/password_file.h"
#include "tiderace/base/result.h"
#include "tiderace/core/worker_pool.h"
#include "tiderace/http/filter/error_pages.h"
#include "tiderace/http/filter/rate_limit.h"
#include "tiderace/http/filter/trusted_proxies.h"
#include "tiderace/http/site.h"
#include "tiderace/http/wire/accept.h"

namespace tiderace::server {

// By what they were made of: to hash one again for each of many sites would take seconds. `before`
// has the files of an earlier reading, which are kept if nothing changed.
using PasswordFiles = std::map<std::vector<std::string>, std::shared_ptr<const PasswordFile>>;

// The passwords of --basic-auth and --path-auth: read and hashed once for all loops.
struct SharedPasswords {
    PasswordFiles files;
    core::WorkerPool* pool = nullptr;  // where there are any

    bool any() const { return !files.empty(); }
    // nullptr: the list is empty, and its paths are open.
    std::shared_ptr<const PasswordFile> of(const std::vector<std::string>& sources) const;
};
// The lists of a site and of its routes, as --basic-auth has them.
std::vector<const std::vector<std::string>*> password_lists(const ServeOptions& options);
// Or a name with its password.
bool is_password_file(const std::string& source);
// Without the pool.
Result<SharedPasswords> load_passwords(const ServeOptions& options, PasswordFiles& known,
                                       const PasswordFiles* before = nullptr);

// One for all loops, or each would allow the whole rate. By the path and what is allowed there: a
// site that replaces this one goes on counting.
using RateTables = std::map<std::tuple<std::string, std::uint32_t, std::uint32_t>,
                            std::weak_ptr<http::filter::RateTable>>;

// What answers for some hosts.
struct ServedSite {
    std::vector<std::string> hosts = {};  // "example.org", "*.example.org"
    bool is_default = true;               // it answers for every other host, too
    ServeOptions options = {};            // of which the site reads what concerns a site
    SharedPasswords passwords = {};
    std::shared_ptr<RateTables> rates = std::make_shared<RateTables>();
    std::uint64_t id = 0;  // of its files and programs: the same in two generations, if they are

    bool has_files() const { return !options.root.empty(); }
    std::string name() const { return hosts.empty() ? "default" : hosts.front(); }
};

// What a loop has of one site. The trees that are made of it keep it.
struct LoopSite {
    std::shared_ptr<http::Handler> answers = {};    // its files, or its programs before them
    std::shared_ptr<http::Handler> redirects = {};  // of its plain addresses; nullptr: none
    std::shared_ptr<http::filter::ErrorPages> pages = {};
    // In the order of ServeOptions::routes: what answers there; nullptr: nothing that has files or
    // programs.
    std::vector<std::shared_ptr<http::Handler>> routes = {};
};
// In the order of the sites.
using LoopSites = std::vector<LoopSite>;

// For About.
struct SiteFacts {
    std::string_view engine = core::LoopOptions{}.engine;
    std::size_t loops = 1;
};

// As `[server] trusted_proxies` says; nullptr: it names none. Its networks were checked.
std::shared_ptr<const http::filter::TrustedProxies> proxies_of(const ServeOptions& options);

// On each loop the states have the LoopSites and, with compression, an EncoderPool. The sites
// outlive the tree.
http::Site make_site(std::span<const ServedSite> sites, const SiteFacts& facts);
// What the plain addresses of --https-redirect serve.
http::Site make_redirect_site(std::span<const ServedSite> sites);

// The options of the site with the files that a route has: what the routes around its path say,
// and then its own.
ServeOptions with_files_of(const ServeOptions& options, const Route& route);

// The operator's pages of the site.
Result<http::filter::ErrorPages> load_error_pages(const ServeOptions& options);
// The error pages of a route, which stand before the site's.
Result<http::filter::ErrorPages> load_error_pages(const ServeOptions& options,
                                                  const std::vector<ErrorPage>& pages);
// What `compress` chooses for the file of a path, of the codings that this build has.
class CodingsByPath {
  public:
    explicit CodingsByPath(const ServeOptions& options);
    http::wire::AvailableCodings of(std::string_view path) const;

  private:
    struct Choice {
        http::RouteMatch match;
        http::wire::AvailableCodings codings;
    };
    std::vector<Choice> choices_;  // the nearest first
    http::wire::AvailableCodings otherwise_;
};
// Whether anything is compressed anywhere.
bool compresses(const ServeOptions& options);
// The logs of a site and its routes, as they were given, each once: files, and "-". Not "off".
std::vector<std::string> access_logs(const ServeOptions& options);

}  // namespace tiderace::server
