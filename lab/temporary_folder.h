// TemporaryFolder: a folder in the system's place for such, gone with all that is in it at the end.
// Left-overs of a killed process are removed when the next folder of that name is made.
//
//   NAME-a1b2c3   locked as long as its process lives; not locked: left over
//
// Owner    The caller; a moved-from object owns no folder.
// Thread   One.
// Errors   make(), write(): a Result that names the path. What cannot be removed stays.
#pragma once

#include <string>
#include <string_view>
#include <utility>

#include "tiderace/base/result.h"
#include "tiderace/core/kernel.h"

namespace tiderace::lab {

class TemporaryFolder {
  public:
    // `name`: the folder's prefix, which identifies a leftover folder.
    static Result<TemporaryFolder> make(std::string_view name);
    TemporaryFolder(TemporaryFolder&& other) noexcept
        : path_(std::exchange(other.path_, {})), lock_(std::move(other.lock_)) {}
    TemporaryFolder& operator=(TemporaryFolder&&) = delete;
    ~TemporaryFolder();

    const std::string& path() const { return path_; }
    Result<> write(const std::string& name, std::string_view text) const;

  private:
    TemporaryFolder(std::string path, core::Descriptor lock)
        : path_(std::move(path)), lock_(std::move(lock)) {}

    std::string path_;
    core::Descriptor lock_;  // the kernel unlocks it, however the process ends
};

}  // namespace tiderace::lab
