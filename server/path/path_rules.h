// PathRules: what holds for some paths of the site only, on one loop: how often a client may ask
// (--path-rate), which scripts may read (--path-cors), who may enter (--path-auth), where it leads
// (--path-redirect), added fields (--path-header), error pages (--path-error-page), compression
// (--path-compress).
//
//   request -> rate -> CORS -> passwords -> redirect -> handler -> error pages -> CORS -> fields
//           -> compression -> answer
//
// Files have compressed variants of their own, which codings_by_path() decides on.
//
// Each kind has its own table. The longest path counts, in place of the site's own; fields alone
// add up, from the shortest path to the longest, so that the nearest has the last word. Where no
// path has a kind, the site's own stands in the stages as it is, and nothing is looked up.
//
// Owner    A worker. The constructor's arguments outlive it.
// Thread   The loop's; RateTable and PasswordFile are shared by all loops.
// Errors   load_error_pages() fails where a file cannot be read.
// Limits   PathOptions::rules_max of each kind.
// Memory   A password rule holds up to 64 remembered credentials, a rate 512 KiB for all loops.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "server/options.h"
#include "server/password_file.h"
#include "server/path/path_redirect.h"
#include "server/path/path_table.h"
#include "tiderace/base/result.h"
#include "tiderace/core/worker_pool.h"
#include "tiderace/http/filter/added_fields.h"
#include "tiderace/http/filter/basic_auth.h"
#include "tiderace/http/filter/compress.h"
#include "tiderace/http/filter/cors.h"
#include "tiderace/http/filter/error_pages.h"
#include "tiderace/http/filter/rate_limit.h"
#include "tiderace/http/site.h"
#include "tiderace/http/wire/accept.h"

namespace tiderace::server {

// One for each path of --path-auth; nullptr: its paths are open.
using PathPasswords = std::vector<std::pair<std::string, std::shared_ptr<const PasswordFile>>>;
// One for each path of --path-rate; nullptr: its paths are not limited.
using PathRates = std::vector<std::pair<std::string, std::shared_ptr<http::filter::RateTable>>>;

// The passwords of --basic-auth and --path-auth: read and hashed once for all loops.
struct SharedPasswords {
    std::shared_ptr<const PasswordFile> otherwise;  // nullptr: other paths are open
    PathPasswords paths;
    core::WorkerPool* pool = nullptr;  // where there are any

    bool any() const { return otherwise != nullptr || !paths.empty(); }
};
// Without the pool.
Result<SharedPasswords> load_passwords(const ServeOptions& options);
PathRates make_path_rates(const ServeOptions& options);
// What --compress and --path-compress choose, of the codings that this build has. Each path has an
// entry; none of its codings: nothing is compressed there.
PathTable<http::wire::AvailableCodings> codings_by_path(const ServeOptions& options);
// Whether anything is compressed anywhere.
bool compresses(const ServeOptions& options);

// Lets the rule of the longest path decide.
class PathAccess final : public http::AccessRule {
  public:
    void set(std::string_view prefix, http::AccessRule* rule) { rules_.set(prefix, rule); }
    Verdict check(http::Exchange& exchange) override;

    // nullptr: none decides, and the request passes.
    http::AccessRule* rule_of(std::string_view path) const;

  private:
    PathTable<http::AccessRule*> rules_;
};

// Runs the filter of the longest path.
class PathFilter final : public http::ResponseFilter {
  public:
    void set(std::string_view prefix, http::ResponseFilter* filter) {
        filters_.set(prefix, filter);
    }
    void filter(http::Exchange& exchange, http::Response& response) override;

  private:
    PathTable<http::ResponseFilter*> filters_;
};

// Runs those of all paths that the request is below, the shortest first.
class PathFields final : public http::ResponseFilter {
  public:
    explicit PathFields(const std::vector<PathHeader>& headers);
    void filter(http::Exchange& exchange, http::Response& response) override;

  private:
    std::vector<std::pair<std::string, http::filter::AddedFields>> fields_;
};

class PathRules {
  public:
    explicit PathRules(const ServeOptions& options) : options_(&options) {}

    // In the order of the stages. `otherwise` is the site's own, or nullptr, and holds elsewhere.
    void add_rates(http::Site& site, const PathRates& rates);
    void add_cors(http::Site& site, http::filter::Cors* otherwise);
    void add_passwords(http::Site& site);
    void add_redirects(http::Site& site);
    void add_error_pages(http::Site& site, http::filter::ErrorPages& otherwise);
    void add_cors_fields(http::Site& site, http::filter::Cors* otherwise);
    void add_fields(http::Site& site);
    // The last of the filters, because the fields that are added before it count.
    void add_compression(http::Site& site);

    // Before the rules are added.
    Result<> load_error_pages();
    void make_passwords(core::EventLoop& loop, const SharedPasswords& passwords);
    // Whether a request of this path that reaches the handler has a password that was checked.
    bool asks_password(std::string_view path) const;

  private:
    const ServeOptions* options_;
    std::vector<std::unique_ptr<http::filter::RateLimit>> rates_;
    std::vector<std::unique_ptr<http::filter::Cors>> cors_;
    std::vector<std::unique_ptr<http::filter::BasicAuth>> passwords_;
    std::vector<std::unique_ptr<PathRedirect>> redirects_;
    std::vector<std::pair<std::string, http::filter::ErrorPages>> error_pages_;
    std::unique_ptr<PathFields> fields_;
    std::vector<std::unique_ptr<http::filter::Compress>> compressors_;
    bool has_passwords_ = false;
    PathAccess rate_access_;
    PathAccess cors_access_;
    PathAccess password_access_;
    PathAccess redirect_access_;
    PathFilter cors_filter_;
    PathFilter page_filter_;
    PathFilter compress_filter_;
};

}  // namespace tiderace::server
