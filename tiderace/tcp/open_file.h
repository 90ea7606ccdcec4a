// OpenFile: a regular file that streams send from.
//
// Owner    The queues that send from it; it is closed with the last.
// Thread   open(): any, it blocks. The rest: the loop's.
// Errors   open() names the path.
#pragma once

#include <cstdint>
#include <string>

#include "tiderace/base/result.h"
#include "tiderace/core/kernel.h"
#include "tiderace/core/send_queue.h"

namespace tiderace::tcp {

class OpenFile final : public core::SharedFile {
  public:
    struct Opened {
        core::Descriptor file;
        std::uint64_t bytes = 0;
    };
    static Result<Opened> open(const std::string& path);
    // The same as a function for task::offload().
    struct Open {
        std::string path;
        Result<Opened> operator()() const { return open(path); }
    };

    explicit OpenFile(core::Descriptor file) : file_(std::move(file)) {}
    int descriptor() const override { return file_.get(); }

  private:
    core::Descriptor file_;
};

}  // namespace tiderace::tcp
