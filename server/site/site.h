// The site of `tiderace serve`: what its flags say, as a tree (http/site.h). Each path with rules
// of its own (--path-auth and its like) is a scope; the nearest path that has a rule of a kind
// decides, and fields alone add up.
//
//   request -> rate -> CORS -> passwords -> endpoint -> error pages -> CORS -> fields
//           -> compression -> answer
//
//   endpoint   where the nearest --path-redirect leads, or the folder and its programs
//
// Owner    Assembly, as of the options, which outlive it; all loops share it.
// Thread   The main thread makes it. PasswordFile and RateTable are shared by all loops.
// Errors   load_passwords(): a file that cannot be read. Error pages: LayerPlace::fault, of a loop.
// Limits   PathOptions::rules_max of each kind.
// Memory   A password rule holds up to 64 remembered credentials, a rate 512 KiB for all loops.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "server/options.h"
#include "server/password_file.h"
#include "tiderace/base/result.h"
#include "tiderace/core/worker_pool.h"
#include "tiderace/http/filter/error_pages.h"
#include "tiderace/http/site.h"
#include "tiderace/http/wire/accept.h"

namespace tiderace::server {

// The passwords of --basic-auth and --path-auth: read and hashed once for all loops.
struct SharedPasswords {
    struct Place {
        std::string prefix;
        std::shared_ptr<const PasswordFile> file;  // nullptr: its paths are open
    };
    std::vector<Place> places;
    core::WorkerPool* pool = nullptr;  // where there are any

    bool any() const;
};
// Without the pool.
Result<SharedPasswords> load_passwords(const ServeOptions& options);

// For About.
struct SiteFacts {
    std::string_view engine = core::LoopOptions{}.engine;
    std::size_t loops = 1;
};

// On each loop the states have an http::Handler (the folder's files, or its programs before them),
// the ErrorPages of the whole site and, with compression, an EncoderPool.
http::Site make_site(const ServeOptions& options, const SharedPasswords& passwords,
                     const SiteFacts& facts);

// The operator's pages for a path and all below it; "": for the site.
Result<http::filter::ErrorPages> load_error_pages(const ServeOptions& options,
                                                  std::string_view prefix);
// What --compress and --path-compress choose for a path, of the codings that this build has.
http::wire::AvailableCodings codings_of(const ServeOptions& options, std::string_view path);
// Whether anything is compressed anywhere.
bool compresses(const ServeOptions& options);
// The files of --access-log and --path-log, as they were given, each once.
std::vector<std::string> access_log_files(const ServeOptions& options);

}  // namespace tiderace::server
