#include "server/live/generation.h"

#include <algorithm>
#include <filesystem>
#include <iterator>
#include <map>
#include <set>
#include <system_error>
#include <utility>

#include "server/root_folder.h"
#include "tiderace/core/address.h"

namespace tiderace::server {
namespace {

// Requests for hosts that are not ours (RFC 9110, 15.5.20).
void answer_other_hosts(Wanted& wanted) {
    if (std::ranges::any_of(wanted.sites, &ServedSite::is_default)) return;
    ServedSite& others = wanted.sites.emplace_back();
    others.options = wanted.options;
    others.options.root.clear();
    others.options.whole.reply = FixedReply{.status = 421};
}

Result<> open_roots(std::vector<ServedSite>& sites) {
    for (ServedSite& site : sites) {
        for (Route& route : site.options.routes) {
            if (!route.files.root) continue;
            auto root = find_root(*route.files.root);
            if (!root) return fail(root.error());
            route.files.root = std::move(*root);
        }
        if (!site.has_files()) continue;
        auto root = find_root(site.options.root);
        if (!root) return fail(root.error());
        site.options.root = std::move(*root);
        if (!site.options.spa_file) continue;
        if (auto checked = check_spa_file(site.options); !checked) return checked;
    }
    return {};
}

// A request may lead to where the file lies, and to a link that is named in its place.
void add_names(std::set<std::string>& names, const std::string& file) {
    namespace fs = std::filesystem;
    std::error_code fault;
    const fs::path whole = fs::absolute(file, fault).lexically_normal();
    for (const fs::path& name :
         {fs::weakly_canonical(whole.parent_path(), fault) / whole.filename(),
          fs::weakly_canonical(whole, fault)}) {
        names.insert((fault ? whole : name).string());
    }
}

std::set<std::string> private_names(const Wanted& wanted) {
    std::set<std::string> files(wanted.options.private_files.begin(),
                                wanted.options.private_files.end());
    for (const CertificateFiles& pair : wanted.options.tls.certificates) files.insert(pair.key);
    for (const ServedSite& site : wanted.sites) {
        for (const std::vector<std::string>* const list : password_lists(site.options)) {
            std::ranges::copy_if(*list, std::inserter(files, files.end()), is_password_file);
        }
    }
    std::set<std::string> names;
    for (const std::string& file : files) add_names(names, file);
    return names;
}

// A site has those inside its own folders: of many sites, each with files, all would be too many.
void keep_files_private(Wanted& wanted) {
    const std::set<std::string> names = private_names(wanted);
    for (ServedSite& site : wanted.sites) {
        std::set<std::string> roots{site.options.root};
        for (const Route& route : site.options.routes) {
            if (route.files.root) roots.insert(*route.files.root);
        }
        site.options.private_files.clear();
        for (const std::string& root : roots) {
            std::error_code fault;
            std::string folder = std::filesystem::weakly_canonical(root, fault).string();
            if (!folder.ends_with('/')) folder += '/';
            for (auto at = names.lower_bound(folder); at != names.end() && at->starts_with(folder);
                 ++at) {
                site.options.private_files.push_back(*at);
            }
        }
    }
}

// Without an index file in the root every visitor would see an error, so list the folder where only
// this machine can see it. What stands behind a Unix socket may serve the whole network.
bool decide_listing(Wanted& wanted) {
    for (const std::string& text : wanted.options.listen) {
        const auto address = core::Address::parse(text);
        if (!address || address->is_unix() || !address->is_loopback()) return false;
    }
    bool lists = false;
    for (ServedSite& site : wanted.sites) {
        ServeOptions& options = site.options;
        if (!site.has_files() || options.listing || options.spa_file) continue;
        if (has_index_file(options.root, options.index)) continue;
        options.listing = lists = true;
    }
    return lists;
}

Route part_of_content(const Route& route) {
    return {.match = route.match,
            .compress = route.compress,
            .cache_control = route.cache_control,
            .files = route.files,
            .cgi = route.cgi,
            .fastcgi = route.fastcgi};
}

// What of the options concerns a site's files and programs: all but what the tree has, which is
// made anew, and what concerns the server.
ServeOptions part_of_content(ServeOptions options) {
    options.listen = {};
    options.tls = {.self_signed = options.tls.on()};
    options.log_level = {};
    options.access_log = {};
    options.log_format = {};
    options.log_rules = {};
    options.slow = {};
    options.metrics = {};
    options.basic_auth = {};
    options.cors_origin = {};
    options.added_headers = {};
    options.about = false;
    options.server_header = false;
    options.http2 = {};
    options.backlog = {};
    options.connections_max = {};
    options.watch = {};
    options.admin_socket = {};
    options.admin_mode = {};
    options.log_flush_interval = {};
    options.cgi.programs_max = {};
    options.compress.folder = {};
    options.timeouts = {};
    options.minimum_rates = {};
    options.limits = {.body_bytes_max = options.limits.body_bytes_max};
    // Its size is divided anew; without a cache, nothing is compressed.
    options.cache.bytes_max = options.cache.bytes_max > 0 ? 1 : 0;
    options.log_rotate_bytes = {};
    options.log_files_kept = {};
    const std::vector<Route> routes = std::move(options.routes);
    options.routes.clear();
    for (const Route& route : routes) {
        Route part = part_of_content(route);
        if (part != Route{.match = route.match}) options.routes.push_back(std::move(part));
    }
    options.whole = part_of_content(options.whole);
    return options;
}

std::string name_of(const ServedSite& site) {
    return site.hosts.empty() ? std::string() : site.hosts.front();
}

void take_over(Generation& next, const Generation* before) {
    std::map<std::string, const ServedSite*> known;
    if (before != nullptr) {
        for (const ServedSite& site : before->sites) known.emplace(name_of(site), &site);
    }
    for (std::size_t i = 0; i < next.sites.size(); ++i) {
        ServedSite& site = next.sites[i];
        site.id = next.number << 32 | i;
        const auto found = known.find(name_of(site));
        if (found == known.end()) continue;
        const ServedSite& old = *found->second;
        if (part_of_content(old.options) == part_of_content(site.options)) site.id = old.id;
        for (const auto& [key, table] : *old.rates) {
            if (!table.expired()) site.rates->emplace(key, table);
        }
    }
}

Result<> load_access_rules(Generation& next, const Generation* before, core::WorkerPool* pool) {
    for (ServedSite& site : next.sites) {
        auto passwords = load_passwords(site.options, next.passwords,
                                        before != nullptr ? &before->passwords : nullptr);
        if (!passwords) return fail(passwords.error());
        site.passwords = std::move(*passwords);
        site.passwords.pool = pool;
    }
    return {};
}

}  // namespace

Result<> settle(Wanted& wanted) {
    if (wanted.sites.empty()) wanted.sites.emplace_back().options = wanted.options;
    answer_other_hosts(wanted);
    if (auto opened = open_roots(wanted.sites); !opened) return opened;
    keep_files_private(wanted);
    wanted.lists_on_loopback = decide_listing(wanted);
    return {};
}

std::size_t count_folders(std::span<const ServedSite> sites) {
    std::size_t count = 0;
    for (const ServedSite& site : sites) {
        const auto has_files = [](const Route& route) { return route.files.any(); };
        count += site.has_files() ? 1 : 0;
        count += static_cast<std::size_t>(std::ranges::count_if(site.options.routes, has_files));
    }
    return count;
}

Result<std::shared_ptr<const Generation>> make_generation(Wanted wanted, const Generation* before,
                                                          const GenerationParts& parts) {
    auto next = std::make_shared<Generation>();
    next->number = before != nullptr ? before->number + 1 : 1;
    next->options = std::move(wanted.options);
    next->sites = std::move(wanted.sites);
    next->redirects = parts.redirects;
    next->encrypted_port = parts.encrypted_port;
    next->shares = parts.shares;
    next->folders = count_folders(next->sites);
    take_over(*next, before);
    if (auto loaded = load_access_rules(*next, before, parts.password_pool); !loaded) {
        return fail(loaded.error());
    }
    next->tree = make_site(next->sites, parts.facts);
    if (next->redirects) next->redirect_tree = make_redirect_site(next->sites);
    return next;
}

std::shared_ptr<const http::Site> tree_of(const std::shared_ptr<const Generation>& generation) {
    return {generation, &generation->tree};
}

std::shared_ptr<const http::Site> redirect_tree_of(
    const std::shared_ptr<const Generation>& generation) {
    return {generation, &generation->redirect_tree};
}

bool any_site(std::span<const ServedSite> sites,
              const std::function<bool(const ServeOptions&)>& is) {
    return std::ranges::any_of(sites, [&](const ServedSite& site) { return is(site.options); });
}

std::vector<std::string> access_logs(std::span<const ServedSite> sites) {
    std::vector<std::string> all;
    for (const ServedSite& site : sites) {
        for (std::string& log : access_logs(site.options)) {
            if (std::ranges::find(all, log) == all.end()) all.push_back(std::move(log));
        }
    }
    return all;
}

std::vector<std::string> log_files(std::span<const ServedSite> sites) {
    std::vector<std::string> files = access_logs(sites);
    std::erase(files, "-");
    return files;
}

}  // namespace tiderace::server
