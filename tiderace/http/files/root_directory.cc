#include "tiderace/http/files/root_directory.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

namespace tiderace::http::files {
namespace {

constexpr int how = O_RDONLY | O_DIRECTORY | O_CLOEXEC;

// Duplicates `fd` to another number, in one step: a program that another thread
// starts meanwhile must not inherit it.
bool put_in_place(int fd, int number) {
#if defined(__APPLE__)
    // It has no call for both, and dup2() does not copy the close-on-exec mark.
    return ::dup2(fd, number) >= 0 && ::fcntl(number, F_SETFD, FD_CLOEXEC) == 0;
#else
    return ::dup3(fd, number, O_CLOEXEC) >= 0;
#endif
}

}  // namespace

Result<RootDirectory> RootDirectory::open(core::Kernel& kernel, std::string path) {
    const int fd = ::open(path.c_str(), how);
    if (fd < 0) {
        const std::string_view advice = errno == ENOTDIR  ? "it is a file; name the folder it is in"
                                        : errno == ENOENT ? "check the spelling of the folder"
                                                          : "";
        return fail(Error::last("open root", path, advice));
    }
    RootDirectory root(core::Descriptor(kernel, fd), std::move(path));
    if (!root.remember()) return fail(Error::last("look at root", root.path_));
    return root;
}

bool RootDirectory::remember() {
    struct stat status{};
    if (::fstat(descriptor_.get(), &status) != 0) return false;
    device_ = status.st_dev;
    inode_ = status.st_ino;
    return true;
}

bool RootDirectory::follow() {
    struct stat named{};
    // An open directory keeps its number even when it is removed, so equal numbers mean the same
    // one.
    if (::stat(path_.c_str(), &named) != 0) return false;
    if (named.st_dev == device_ && named.st_ino == inode_) return false;
    const int fd = ::open(path_.c_str(), how);
    if (fd < 0) return false;  // not a directory, or no descriptor left: tried again later
    // Put in place under the same number, atomically: other threads use it at this moment.
    const bool replaced = put_in_place(fd, descriptor_.get());
    ::close(fd);
    return replaced && remember();
}

}  // namespace tiderace::http::files
