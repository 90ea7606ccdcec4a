#include "server/config/check.h"

#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <utility>
#include <vector>

#include "server/account.h"
#include "server/assemble.h"
#include "server/terminal.h"

namespace tiderace::server::config {

namespace {

Wanted wanted_of(Config config) {
    Wanted wanted{.options = std::move(config.server)};
    for (SiteConfig& site : config.sites) wanted.sites.push_back(std::move(site));
    return wanted;
}

// Root may read everything; the user that will serve may not.
DocumentWorld world_of_server(std::optional<Account>& account) {
    DocumentWorld world = this_world();
    world.act = [&account](const std::string& user) -> Result<std::unique_ptr<ActingAs>> {
        auto found = account_to_become(user, ::geteuid(), ::getegid());
        if (!found) return fail(found.error());
        account = std::move(*found);
        return account ? ActingAs::begin(*account) : nullptr;
    };
    world.look = [&account, look = world.look](const std::string& path, FileKind kind) -> Result<> {
        auto found = look(path, kind);
        if (found && kind == FileKind::rotated_log && account) {
            return check_log_folder(path, *account);
        }
        if (found || !account || found.error().code() != EACCES) return found;
        if (kind == FileKind::folder) return check_readable_folder(path, *account);
        if (kind != FileKind::file) return found;
        return fail(Error(EACCES, "read", path,
                          "the server runs as user " + account->name + ", which may not read it"));
    };
    return world;
}

// It has given up root's rights, or never had them.
DocumentWorld world_of_reload(const IsOpenLog& is_open) {
    DocumentWorld world = this_world();
    world.look = [&is_open, look = world.look](const std::string& path, FileKind kind) -> Result<> {
        const bool is_log = kind == FileKind::log || kind == FileKind::rotated_log;
        return is_log && is_open(path) ? Result<>() : look(path, kind);
    };
    return world;
}

}  // namespace

Loaded load_config(const std::string& file, const IsOpenLog& is_open) {
    Sources sources;
    Problems problems;
    std::optional<Account> account;
    auto config = read_config(file, sources, problems,
                              is_open ? world_of_reload(is_open) : world_of_server(account));
    return {.config = std::move(config), .problems = problems.text(sources)};
}

int run(Config config, const std::string& file) {
    return serve(wanted_of(std::move(config)), [file](const IsOpenLog& is_open) {
        Loaded loaded = load_config(file, is_open);
        server::Reading reading{.problems = std::move(loaded.problems)};
        if (loaded.config) reading.wanted = wanted_of(std::move(*loaded.config));
        return reading;
    });
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
