#include "tiderace/tls/read_file.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <cerrno>
#include <utility>

#include "tiderace/core/kernel.h"
#include "tiderace/core/whole_file.h"

namespace tiderace::tls {
namespace {

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
    return core::read_file<SecretText>(open_file(path), path, bytes_max);
}

std::string file_look(const std::string& path) {
    struct stat status{};
    return get_status(path, status) ? core::look_of(status) : "none;";
}

}  // namespace tiderace::tls
