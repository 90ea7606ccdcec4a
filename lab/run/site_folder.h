// SiteFolder: the files of the workloads, in a temporary folder that is gone at the end.
//
// Owner    The run.
// Thread   One.
// Errors   Where they cannot be written: a Result that names the file.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <utility>

#include "lab/run/workload.h"
#include "lab/temporary_folder.h"
#include "tiderace/base/result.h"

namespace tiderace::lab::run {

class SiteFolder {
  public:
    static Result<SiteFolder> make();

    const std::string& path() const { return folder_.path(); }
    // CRC-32 of its bytes: what an answer must have.
    std::uint32_t hash(SiteFile file) const { return hashes_[static_cast<std::size_t>(file)]; }

  private:
    explicit SiteFolder(TemporaryFolder folder) : folder_(std::move(folder)) {}

    TemporaryFolder folder_;
    std::array<std::uint32_t, site_files.size()> hashes_{};
};

}  // namespace tiderace::lab::run
