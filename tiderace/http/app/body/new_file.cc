#include "tiderace/http/app/body/new_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <stdexcept>
#include <utility>

#include "tiderace/base/result.h"

namespace tiderace::http {
namespace {

[[noreturn]] void throw_error(int code, std::string_view operation, std::string_view path) {
    throw std::runtime_error(Error(code, operation, path).message());
}

}  // namespace

NewFile::~NewFile() {
    if (descriptor_ < 0) return;
    ::close(descriptor_);
    // finish() was not reached: a file that is cut off must not look whole.
    ::unlink(path_.c_str());
}

void NewFile::open() {
    // O_EXCL: never through a link, and never over an existing file.
    descriptor_ = ::open(path_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (descriptor_ < 0) throw_error(errno, "create", path_);
}

void NewFile::write(ByteView bytes) {
    while (!bytes.empty()) {
        const ssize_t written = ::write(descriptor_, bytes.data(), bytes.size());
        if (written < 0 && errno == EINTR) continue;
        if (written < 0) throw_error(errno, "write", path_);
        bytes.remove_prefix(static_cast<std::size_t>(written));
    }
}

void NewFile::finish() {
    // Some file systems (NFS, quotas) report a failed write only here.
    if (::close(std::exchange(descriptor_, -1)) == 0) return;
    const int code = errno;
    ::unlink(path_.c_str());
    throw_error(code, "close", path_);
}

unique_function<void()> NewFile::opening(std::shared_ptr<NewFile> file) {
    return [file = std::move(file)] { file->open(); };
}
unique_function<void()> NewFile::writing(std::shared_ptr<NewFile> file, std::string bytes) {
    return [file = std::move(file), bytes = std::move(bytes)] { file->write(bytes); };
}
unique_function<void()> NewFile::finishing(std::shared_ptr<NewFile> file) {
    return [file = std::move(file)] { file->finish(); };
}

}  // namespace tiderace::http
