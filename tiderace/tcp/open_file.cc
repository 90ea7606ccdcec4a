#include "tiderace/tcp/open_file.h"

#include <fcntl.h>
#include <sys/stat.h>

namespace tiderace::tcp {

Result<OpenFile::Opened> OpenFile::open(const std::string& path) {
    // Without waiting: a pipe's other end may never come.
    const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0) return fail(Error::last("open", path));
    Opened opened{.file = core::Descriptor(core::system_kernel(), fd), .bytes = 0};
    struct stat status{};
    if (::fstat(fd, &status) != 0) return fail(Error::last("look at", path));
    if (!S_ISREG(status.st_mode)) return fail(Error(0, "send", path, "it is no regular file"));
    opened.bytes = static_cast<std::uint64_t>(status.st_size);
    return opened;
}

}  // namespace tiderace::tcp
