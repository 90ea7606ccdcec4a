// SiteFolder: the files of the workloads, in a temporary folder that is gone at the end.
//
// Owner    The run.
// Thread   One.
// Errors   Where they cannot be written: a Result that names the file.
#pragma once

#include <array>
#include <cstdint>
#include <string>

#include "lab/run/workload.h"
#include "tiderace/base/result.h"

namespace tiderace::lab::run {

class SiteFolder {
  public:
    static Result<SiteFolder> make();
    ~SiteFolder();
    SiteFolder(SiteFolder&& other) noexcept;
    SiteFolder& operator=(SiteFolder&&) = delete;

    const std::string& path() const { return path_; }
    // CRC-32 of its bytes: what an answer must have.
    std::uint32_t hash(SiteFile file) const { return hashes_[static_cast<std::size_t>(file)]; }

  private:
    SiteFolder() = default;

    std::string path_;
    std::array<std::uint32_t, site_files.size()> hashes_{};
};

}  // namespace tiderace::lab::run
