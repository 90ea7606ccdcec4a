// Internal. ChangeNotices: the kernel's reports about changes of given directories and files:
// inotify on Linux, kqueue's vnode filter on BSD and macOS.
//
//   watch(fd) -> id        ... a write, rename or delete ...   descriptor() is readable
//   take() -> [{id, kind, name}]
//   watch(fd, name) -> id  ... `name` appears, vanishes or is replaced: for a busy directory
//
// A notice is there before the call that made the change returns. Not reported are changes through
// memory maps, through another link of the same file, and by other machines (see is_remote()).
//
// Owner    SharedNotices, which all loops of a process share. Ends all watches with it.
// Thread   One at a time.
// Errors   open() fails without such a system call, or with no instance left; watch(), at the
//          system's limit of watches. Lost notices are reported as `lost`.
// Limits   notices_max in one take(); more are one `lost`.
// Memory   The kernel's: about 1 KiB for each watch.
// Keywords: inotify, file change
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "tiderace/base/result.h"

namespace tiderace::core {

struct ChangeNotice {
    enum class Kind : std::uint8_t {
        content,  // bytes, permissions or times of `name`, or of what is watched
        entry,    // `name` appeared, vanished, or was renamed or replaced
        moved,    // the watched file has another name, or none; it stays watched
        ended,    // the watched file is gone; the watch has ended
        lost,     // anything may have changed anywhere; `id` is meaningless
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
    // Watches the file that is open as `fd`, which may be closed afterwards. A file that is watched
    // already keeps its id.
    //
    // With `only_entry`, a directory reports no content, and no entry but this and the ones that
    // other calls name, unless another call watches it whole. kqueue, which has no names, reports
    // each.
    virtual Result<int> watch(int fd, std::string_view only_entry = {}) = 0;
    // No notice has this id any more. It may have ended before.
    virtual void forget(int id) = 0;
    // All notices so far, oldest first. Valid until the next call.
    virtual const std::vector<ChangeNotice>& take() = 0;
};

using ChangeNoticesFactory = Result<std::unique_ptr<ChangeNotices>> (*)();

// change_notices_linux.cc, change_notices_kqueue.cc.
Result<std::unique_ptr<ChangeNotices>> open_change_notices();

// Whether other machines may change what is open as `fd` without a notice here.
bool is_remote(int fd);

}  // namespace tiderace::core
