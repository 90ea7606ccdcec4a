// RootDirectory: the directory that is served, open, under one descriptor for good; what its path
// leads to may become another.
//
// A site that is built anew is often a new directory under the old name, or a link that leads to
// the next release. Without follow() the old one would be served, or nothing, until the end.
//
// Owner    StaticFiles, one per loop.
// Thread   The owner's. Who uses the descriptor on another thread sees the old one or the new.
// Errors   open() fails when there is no such directory. A path that leads nowhere for a while
//          leaves everything as it was.
#pragma once

#include <sys/types.h>

#include <string>

#include "tiderace/base/result.h"
#include "tiderace/core/kernel.h"

namespace tiderace::http::handler {

class RootDirectory {
  public:
    static Result<RootDirectory> open(core::Kernel& kernel, std::string path);

    // The same number from open() to the end.
    int descriptor() const { return descriptor_.get(); }
    // Looks where the path leads by now, and opens that in the old one's place. One system call
    // where nothing changed. True: it is another directory.
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

}  // namespace tiderace::http::handler
