// Generation: what one reading of the configuration serves: its sites and their trees. A file that
// is read again makes another one. What did not change is known by its number (ServedSite::id) and
// keeps its objects on each loop.
//
//   Wanted --settle()--> roots found, listing decided --make_generation()--> a tree for all loops
//
// Owner    Shared by the loops' trees: it ends with the last exchange that began in it.
// Thread   Made by one, which blocks on the disk; constant from then on.
// Errors   A root, a password file or another file that cannot be used, and what to do.
// Keywords: reload
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "server/descriptor_shares.h"
#include "server/options.h"
#include "server/site/site.h"
#include "tiderace/base/result.h"
#include "tiderace/core/worker_pool.h"
#include "tiderace/http/site.h"

namespace tiderace::server {

// What flags or a file ask for.
struct Wanted {
    ServeOptions options = {};           // what is not a site's
    std::vector<ServedSite> sites = {};  // none: the one that the options describe
    bool lists_on_loopback = false;      // settle() has decided so for one of them
};

// Finds the folders and decides what the options leave open. Answers for hosts that are not ours.
Result<> settle(Wanted& wanted);

struct Generation {
    std::uint64_t number = 1;
    ServeOptions options = {};
    std::vector<ServedSite> sites = {};
    std::size_t folders = 0;  // of the sites and their routes
    PasswordFiles passwords = {};
    bool redirects = false;              // it has what plain addresses of --https-redirect serve
    std::uint16_t encrypted_port = 443;  // where these lead
    DescriptorShares shares = {};
    http::Site tree = {};
    http::Site redirect_tree = {};
};

struct GenerationParts {
    SiteFacts facts = {};
    core::WorkerPool* password_pool = nullptr;
    bool redirects = false;
    std::uint16_t encrypted_port = 443;
    DescriptorShares shares = {};
};

// `before`, or nullptr, is what is served now.
Result<std::shared_ptr<const Generation>> make_generation(Wanted wanted, const Generation* before,
                                                          const GenerationParts& parts);
// The trees keep their generation.
std::shared_ptr<const http::Site> tree_of(const std::shared_ptr<const Generation>& generation);
std::shared_ptr<const http::Site> redirect_tree_of(
    const std::shared_ptr<const Generation>& generation);

bool any_site(std::span<const ServedSite> sites,
              const std::function<bool(const ServeOptions&)>& is);
// The folders that each loop serves: of the sites, and of routes with settings about files.
std::size_t count_folders(std::span<const ServedSite> sites);
// Their access logs, each once: files, and "-". Not "off".
std::vector<std::string> access_logs(std::span<const ServedSite> sites);
// The files among these.
std::vector<std::string> log_files(std::span<const ServedSite> sites);

}  // namespace tiderace::server
