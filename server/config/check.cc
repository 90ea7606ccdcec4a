#include "server/config/check.h"

#include <unistd.h>

#include <cstdio>
#include <utility>
#include <vector>

#include "server/account.h"
#include "server/assemble.h"
#include "server/terminal.h"

namespace tiderace::server::config {

namespace {

// Root may read everything; the user that will serve may not.
Result<> check_as_server(const Config& config) {
    const auto account =
        account_to_become(config.server.user.value_or(""), ::geteuid(), ::getegid());
    if (!account) return fail(account.error());
    if (!*account) return {};
    const auto acting = ActingAs::begin(**account);
    if (!acting) return fail(acting.error());
    for (const SiteConfig& site : config.sites) {
        if (!site.has_files()) continue;
        if (auto may = check_readable_folder(site.options.root, **account); !may) return may;
    }
    return {};
}

}  // namespace

namespace {

Wanted wanted_of(Config config) {
    Wanted wanted{.options = std::move(config.server)};
    for (SiteConfig& site : config.sites) wanted.sites.push_back(std::move(site));
    return wanted;
}

}  // namespace

Loaded load_config(const std::string& file) {
    Sources sources;
    Problems problems;
    auto config = read_config(file, sources, problems);
    return {.config = std::move(config), .problems = problems.text(sources)};
}

int run(Config config, const std::string& file) {
    return serve(wanted_of(std::move(config)), [file] {
        Loaded loaded = load_config(file);
        server::Reading reading{.problems = std::move(loaded.problems)};
        if (loaded.config) reading.wanted = wanted_of(std::move(*loaded.config));
        return reading;
    });
}

int check(const std::string& file) {
    const auto [config, problems] = load_config(file);
    std::fputs(problems.c_str(), stderr);
    if (!config) return this_world().look(file, FileKind::file) ? 1 : 2;
    if (auto checked = check_as_server(*config); !checked) {
        complain("tiderace", checked.error().message());
        return 1;
    }
    std::size_t routes = 0;
    for (const SiteConfig& site : config->sites) routes += site.routes;
    return print("tiderace", printable(file) +
                                 ": nothing is wrong: " + counted(config->sites.size(), "site") +
                                 ", " + counted(routes, "route") + "\n");
}

}  // namespace tiderace::server::config
