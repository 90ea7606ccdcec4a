// A configuration whose files, folders and variables are the test's.
#pragma once

#include <map>
#include <set>
#include <string>

#include "server/config/document.h"

namespace tiderace::server::config {

struct Memory {
    std::map<std::string, std::string> files;
    std::set<std::string> folders{"/srv/www", "/srv/a"};
    std::map<std::string, std::string> variables;

    DocumentWorld world() const {
        return {.read = [this](const std::string& path, std::size_t) -> Result<std::string> {
                    const auto found = files.find(path);
                    if (found == files.end()) return fail(Error(ENOENT, "read", path));
                    return found->second;
                },
                .variable = [this](const std::string& name) -> std::optional<std::string> {
                    const auto found = variables.find(name);
                    return found != variables.end() ? std::optional(found->second) : std::nullopt;
                },
                .look = [this](const std::string& path, FileKind kind) -> Result<> {
                    const bool is_there =
                        kind == FileKind::folder ? folders.contains(path) : files.contains(path);
                    return is_there ? Result<>() : fail(Error(ENOENT, "read", path));
                }};
    }
};

}  // namespace tiderace::server::config
