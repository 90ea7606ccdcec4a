#include "tiderace/tls/read_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "tiderace/core/kernel.h"

namespace tiderace::tls {
namespace {

constexpr std::size_t block_bytes = 16'384;

FileOpener file_opener;  // see set_file_opener()

// Non-blocking, so that a FIFO without a writer does not hang us.
core::Descriptor open_file(const std::string& path) {
    return {core::system_kernel(), file_opener
                                       ? file_opener(path)
                                       : ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK)};
}

// The facts that change with a rename or a write. A process that has given up root may not reach
// the file, so it calls its opener instead.
bool get_status(const std::string& path, struct stat& status) {
    if (::stat(path.c_str(), &status) == 0) return true;
    if (errno != EACCES || !file_opener) return false;
    const core::Descriptor file = open_file(path);
    return file && ::fstat(file.get(), &status) == 0;
}

}  // namespace

void set_file_opener(FileOpener opener) {
    file_opener = std::move(opener);
}

Result<SecretText> read_file(const std::string& path, std::size_t bytes_max) {
    const core::Descriptor file = open_file(path);
    if (!file) return fail(Error::last("read", path));
    struct stat status{};
    if (::fstat(file.get(), &status) != 0) return fail(Error::last("read", path));
    // A FIFO or a device could block the loop's thread, or never end.
    if (!S_ISREG(status.st_mode)) {
        return fail(Error(0, "read", path, "expected a file, found something else of that name"));
    }
    SecretText text;
    for (;;) {
        ssize_t got = 0;
        const std::size_t before = text.size();
        // Not by way of a buffer on the stack, which would not be wiped.
        text.resize_and_overwrite(before + block_bytes, [&](char* data, std::size_t) {
            got = ::read(file.get(), data + before, block_bytes);
            return before + static_cast<std::size_t>(std::max<ssize_t>(got, 0));
        });
        if (got < 0) return fail(Error::last("read", path));
        if (got == 0) return text;
        // Counted while reading, because the file may grow after a look at its size.
        if (text.size() > bytes_max) {
            return fail(Error(0, "read", path,
                              "the file is longer than " + std::to_string(bytes_max) + " bytes"));
        }
    }
}

// macOS names the field differently.
static const timespec& modified_at(const struct stat& status) {
#ifdef __APPLE__
    return status.st_mtimespec;
#else
    return status.st_mtim;
#endif
}

std::string file_look(const std::string& path) {
    struct stat status{};
    if (!get_status(path, status)) return "none;";
    std::string look;
    for (const auto number :
         {static_cast<std::uint64_t>(status.st_dev), static_cast<std::uint64_t>(status.st_ino),
          static_cast<std::uint64_t>(status.st_size),
          static_cast<std::uint64_t>(modified_at(status).tv_sec),
          static_cast<std::uint64_t>(modified_at(status).tv_nsec)}) {
        look += std::to_string(number) + ',';
    }
    return look + ';';
}

}  // namespace tiderace::tls
