// Internal. RootDirectory: the served directory, open under one descriptor for good, while its path
// may come to lead to another.
//
// A site that is built anew is often a new directory under the old name, or a link to the next
// release. Without follow() the server would serve the old one, or nothing, until it ends.
//
// Owner    StaticFiles, one per loop.
// Thread   The owner's. A user of the descriptor on another thread sees the old one or the new.
// Errors   open() fails when there is no such directory. A path that leads nowhere for a while
//          changes nothing.
// Keywords: document root, deploy, symlink switch
#pragma once

#include <sys/types.h>

#include <string>

#include "tiderace/base/result.h"
#include "tiderace/core/kernel.h"

namespace tiderace::http::files {

class RootDirectory {
  public:
    static Result<RootDirectory> open(core::Kernel& kernel, std::string path);

    // The same number from open() to the end.
    int descriptor() const { return descriptor_.get(); }
    // Checks where the path leads now, and opens that directory in the old one's place. One system
    // call if nothing changed. True: it is another directory.
    bool follow();

  private:
    RootDirectory(core::Descriptor descriptor, std::string path)
        : descriptor_(std::move(descriptor)), path_(std::move(path)) {}

    bool remember();

    core::Descriptor descriptor_;
    std::string path_;
    dev_t device_ = 0;
    ino_t inode_ = 0;
};

}  // namespace tiderace::http::files
