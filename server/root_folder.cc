#include "server/root_folder.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <optional>

#include "tiderace/http/wire/canonical_path.h"

namespace tiderace::server {
namespace {

// The absolute name of a link, its last part unresolved: one day it may lead to the next release.
std::optional<std::filesystem::path> link_as_given(const std::filesystem::path& given) {
    std::error_code fault;
    // "site/" names the link, too; with its slash it would be resolved.
    const auto name = given.has_filename() ? given : given.parent_path();
    if (!std::filesystem::is_symlink(name, fault)) return std::nullopt;
    const auto folder = std::filesystem::canonical(
        name.has_parent_path() ? name.parent_path() : std::filesystem::path("."), fault);
    if (fault) return std::nullopt;
    return folder / name.filename();
}

}  // namespace

Result<std::string> find_root(const std::string& given) {
    std::error_code fault;
    const auto root = std::filesystem::canonical(given, fault);
    if (fault) return fail(Error(fault.value(), "serve", given, "give the folder to serve"));
    if (!std::filesystem::is_directory(root, fault)) {
        return fail(Error(ENOTDIR, "serve", given, "give the folder that holds the file"));
    }
    // Root is checked later, as the user that it becomes.
    if (::geteuid() != 0 && ::access(root.c_str(), R_OK | X_OK) != 0) {
        return fail(Error(errno, "serve", root.string(),
                          "this user may not read the folder: change its mode or owner"));
    }
    return link_as_given(given).value_or(root).string();
}

// The rules by which requests find files, applied to the one file that answers when none is found.
Result<> check_spa_file(const ServeOptions& options) {
    namespace fs = std::filesystem;
    const fs::path file = fs::path(options.root) / *options.spa_file;
    const auto refuse = [&](int code, std::string_view advice) {
        return fail(Error(code, "serve --spa", file.string(), advice));
    };
    std::error_code fault;
    if (!fs::is_regular_file(file, fault)) {
        // There is something of the name, without a fault, and it is no file.
        return refuse(fault ? fault.value() : EISDIR,
                      "give the name of a file in the served folder, as in --spa=app.html");
    }
    // In the cases below the file is there, but it would be answered with 404.
    if (!options.hidden_files && http::wire::has_hidden_segment("/" + *options.spa_file)) {
        return refuse(0, "a name that begins with a dot is not served; --hidden serves such names");
    }
    const fs::path root = fs::canonical(options.root, fault);
    const fs::path target = fs::canonical(file, fault);
    const fs::path below = target.lexically_relative(root);
    const bool leads_out = below.empty() || *below.begin() == "..";
    const bool is_link = target != root / fs::path(*options.spa_file);
    if (!fault && ((options.symlinks == SymlinkPolicy::inside && leads_out) ||
                   (options.symlinks == SymlinkPolicy::never && is_link))) {
        return refuse(0, "it is a link that --symlinks does not follow; give another file");
    }
    return {};
}

// One that is there, even if it cannot be read: a folder that was meant to be a site is not listed
// because a file in it has the wrong mode.
bool has_index_file(const std::string& root, const std::vector<std::string>& names) {
    return std::ranges::any_of(names, [&](const std::string& name) {
        std::error_code fault;
        return std::filesystem::exists(std::filesystem::path(root) / name, fault);
    });
}

}  // namespace tiderace::server
