// ChangeNotices: what the kernel reports about directories and files that it was given: inotify on
// Linux, kqueue's vnode filter on BSD and macOS.
//
//   watch(fd) -> id        ... somebody writes, renames, deletes ...   descriptor() is readable
//   take() -> [{id, kind, name}]
//
// A notice is there before the call that made the change returns. Not reported are changes through
// memory maps, through another link of the same file, and by other machines (see is_remote()).
//
// Owner    One loop's user, which watches descriptor(). Ends all watches with it.
// Thread   One at a time.
// Errors   open() fails where there is no such system call, or no instance left; watch() where the
//          system's limit of watches is reached. What got lost is reported as `lost`.
// Limits   notices_max in one take(); more are one `lost`.
// Memory   The kernel's: about 1 KiB for each watch.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "tiderace/base/result.h"

namespace tiderace::core {

struct ChangeNotice {
    enum class Kind : std::uint8_t {
        content,  // bytes, permissions or times of `name`, or of what is watched
        entry,    // `name` appeared, vanished, or was renamed or replaced
        moved,    // what is watched has another name, or none; it stays watched
        ended,    // what is watched is gone; it is no longer watched
        lost,     // anything may have changed anywhere; `id` says nothing
    };

    int id = -1;
    Kind kind = Kind::lost;
    std::string name;  // in the watched directory; "": unknown, any of them, or the watched itself
};

class ChangeNotices {
  public:
    static constexpr std::size_t notices_max = 1024;

    virtual ~ChangeNotices() = default;

    // Readable while there are notices.
    virtual int descriptor() const = 0;
    // Whether a watched directory reports the content of its files, and names. Otherwise each file
    // is watched on its own.
    virtual bool reports_names() const = 0;
    // Watches what is open as `fd`, which may be closed afterwards. What is watched already keeps
    // its id.
    virtual Result<int> watch(int fd) = 0;
    // No notice has this id any more. It may have ended before.
    virtual void forget(int id) = 0;
    // What there is, oldest first. Good until the next call.
    virtual const std::vector<ChangeNotice>& take() = 0;
};

using ChangeNoticesFactory = Result<std::unique_ptr<ChangeNotices>> (*)();

// change_notices_linux.cc, change_notices_kqueue.cc.
Result<std::unique_ptr<ChangeNotices>> open_change_notices();

// Whether other machines may change what is open as `fd` without a notice here.
bool is_remote(int fd);

}  // namespace tiderace::core
