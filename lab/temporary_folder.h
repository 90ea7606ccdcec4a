// TemporaryFolder: a folder in the system's place for such, gone with all that is in it at the end.
//
// Owner    The caller; a moved-from object owns no folder.
// Thread   One.
// Errors   make(), write(): a Result that names the path. What cannot be removed stays.
#pragma once

#include <string>
#include <string_view>
#include <utility>

#include "tiderace/base/result.h"

namespace tiderace::lab {

class TemporaryFolder {
  public:
    // `name`: the folder's prefix, which identifies a leftover folder.
    static Result<TemporaryFolder> make(std::string_view name);
    TemporaryFolder(TemporaryFolder&& other) noexcept : path_(std::exchange(other.path_, {})) {}
    TemporaryFolder& operator=(TemporaryFolder&&) = delete;
    ~TemporaryFolder();

    const std::string& path() const { return path_; }
    Result<> write(const std::string& name, std::string_view text) const;

  private:
    explicit TemporaryFolder(std::string path) : path_(std::move(path)) {}

    std::string path_;
};

}  // namespace tiderace::lab
