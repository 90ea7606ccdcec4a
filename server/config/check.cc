#include "server/config/check.h"

#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <utility>
#include <vector>

#include "server/account.h"
#include "server/assemble.h"
#include "server/terminal.h"

namespace tiderace::server::config {

namespace {

std::string metrics_text(const Config& config) {
    const std::size_t series = series_of(config);
    return series > 0 ? ", " + std::to_string(series) + " series of metrics" : "";
}

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

DocumentWorld world_of_reload(const OpensAsRoot& opens) {
    DocumentWorld world = this_world();
    world.look = [&opens, look = world.look](const std::string& path, FileKind kind) -> Result<> {
        auto found = look(path, kind);
        if (found || found.error().code() != EACCES || kind == FileKind::folder) return found;
        const bool is_log = kind != FileKind::file;
        if (!opens(path, is_log ? RootFiles::Use::append : RootFiles::Use::read)) return found;
        // The helper renames nothing.
        const auto folder = std::filesystem::path(path).parent_path();
        const bool may_rotate = ::access(folder.c_str(), W_OK | X_OK) == 0;
        return kind != FileKind::rotated_log || may_rotate ? Result<>() : found;
    };
    return world;
}

}  // namespace

Loaded load_config(const std::string& file, const OpensAsRoot& opens) {
    Sources sources;
    Problems problems;
    std::optional<Account> account;
    Loaded loaded;
    DocumentWorld world = opens ? world_of_reload(opens) : world_of_server(account);
    world.read = [&, read = world.read](const std::string& path, std::size_t bytes_max) {
        loaded.seen.note_file(path);
        return read(path, bytes_max);
    };
    world.list = [&, list = world.list](const std::string& pattern) {
        loaded.seen.note_pattern(pattern);
        return list(pattern);
    };
    loaded.config = read_config(file, sources, problems, world);
    if (loaded.config) loaded.config->server.private_files = loaded.seen.files();
    loaded.problems = problems.text(sources);
    return loaded;
}

int run(Loaded loaded, const std::string& file) {
    const auto seen = std::make_shared<SeenFiles>(std::move(loaded.seen));
    const auto read = [file, seen](const OpensAsRoot& opens) {
        Loaded again = load_config(file, opens);
        *seen = std::move(again.seen);
        server::Reading reading{.problems = std::move(again.problems)};
        if (again.config) reading.wanted = wanted_of(std::move(*again.config));
        return reading;
    };
    return serve(wanted_of(std::move(*loaded.config)),
                 {.read = read, .has_changed = [seen] { return seen->changed(); }});
}

int check(const std::string& file) {
    const Loaded loaded = load_config(file);
    const std::optional<Config>& config = loaded.config;
    std::fputs(loaded.problems.c_str(), stderr);
    if (!config) return this_world().look(file, FileKind::file) ? 1 : 2;
    std::size_t routes = 0;
    for (const SiteConfig& site : config->sites) routes += site.routes;
    return print("tiderace", printable(file) +
                                 ": nothing is wrong: " + counted(config->sites.size(), "site") +
                                 ", " + counted(routes, "route") + metrics_text(*config) + "\n");
}

}  // namespace tiderace::server::config
