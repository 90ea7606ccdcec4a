#include "server/config/check.h"

#include <unistd.h>

#include <cstdio>
#include <utility>
#include <vector>

#include "server/assemble.h"
#include "server/terminal.h"

namespace tiderace::server::config {

std::optional<Config> load_config(const std::string& file) {
    Sources sources;
    Problems problems;
    auto config = read_config(file, sources, problems);
    const std::string text = problems.text(sources);
    std::fwrite(text.data(), 1, text.size(), stderr);
    return config;
}

int run(Config config) {
    std::vector<ServedSite> sites;
    for (SiteConfig& site : config.sites) sites.push_back(std::move(site));
    return serve(std::move(config.server), std::move(sites));
}

int check(const std::string& file) {
    const auto config = load_config(file);
    if (!config) return ::access(file.c_str(), R_OK) == 0 ? 1 : 2;
    std::size_t routes = 0;
    for (const SiteConfig& site : config->sites) routes += site.routes;
    return print("tiderace", printable(file) +
                                 ": nothing is wrong: " + counted(config->sites.size(), "site") +
                                 ", " + counted(routes, "route") + "\n");
}

}  // namespace tiderace::server::config
