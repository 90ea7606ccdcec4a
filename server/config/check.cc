#include "server/config/check.h"

#include <cstdio>
#include <utility>
#include <vector>

#include "server/assemble.h"
#include "server/terminal.h"

namespace tiderace::server::config {

Loaded load_config(const std::string& file) {
    Sources sources;
    Problems problems;
    auto config = read_config(file, sources, problems);
    return {.config = std::move(config), .problems = problems.text(sources)};
}

int run(Config config) {
    std::vector<ServedSite> sites;
    for (SiteConfig& site : config.sites) sites.push_back(std::move(site));
    return serve(std::move(config.server), std::move(sites));
}

int check(const std::string& file) {
    const auto [config, problems] = load_config(file);
    std::fputs(problems.c_str(), stderr);
    if (!config) return this_world().look(file, FileKind::file) ? 1 : 2;
    std::size_t routes = 0;
    for (const SiteConfig& site : config->sites) routes += site.routes;
    return print("tiderace", printable(file) +
                                 ": nothing is wrong: " + counted(config->sites.size(), "site") +
                                 ", " + counted(routes, "route") + "\n");
}

}  // namespace tiderace::server::config
