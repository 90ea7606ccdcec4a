#include "tiderace/task/new_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <stdexcept>

#include "tiderace/base/random.h"
#include "tiderace/base/result.h"
#include "tiderace/core/whole_file.h"

namespace tiderace::task {
namespace {

[[noreturn]] void throw_error(int code, std::string_view operation, std::string_view path) {
    throw std::runtime_error(Error(code, operation, path).message());
}

// A rename is on the disk once its folder is.
void sync_folder_of(const std::string& path) {
    const std::size_t slash = path.rfind('/');
    const std::string folder = slash == std::string::npos ? "." : path.substr(0, slash + 1);
    const int descriptor = ::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (descriptor < 0) throw_error(errno, "open", folder);
    const int code = ::fsync(descriptor) == 0 ? 0 : errno;
    ::close(descriptor);
    if (code != 0) throw_error(code, "write to the disk", folder);
}

// The reference ends with the call, not with the function: the loop destroys that one.
template <typename F>
unique_function<void()> letting_go(std::shared_ptr<NewFile> file, F call) {
    return [file = std::move(file), call = std::move(call)]() mutable {
        const std::shared_ptr<NewFile> own = std::move(file);
        call(*own);
    };
}

}  // namespace

NewFile::~NewFile() {
    if (descriptor_ < 0) return;
    ::close(descriptor_);
    // finish() was not reached: a file that is cut off must not look whole.
    ::unlink(path_.c_str());
}

std::string NewFile::beside(const std::string& path) {
    return path + '.' + random_name(8) + ".part";
}

void NewFile::open() {
    // O_EXCL: never through a link, and never over an existing file.
    descriptor_ = ::open(path_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (descriptor_ < 0) throw_error(errno, "create", path_);
}

void NewFile::write(ByteView bytes) {
    if (!core::write_whole(descriptor_, bytes)) throw_error(errno, "write", path_);
}

void NewFile::fail_finish(std::string_view operation, const std::string& to) {
    const int code = errno;
    ::unlink(path_.c_str());
    throw_error(code, operation, to);
}

void NewFile::finish() {
    // Some file systems (NFS, quotas) report a failed write only here.
    if (::close(std::exchange(descriptor_, -1)) != 0) fail_finish("close", path_);
}

void NewFile::finish_as(const std::string& path, Kept kept) {
    // Before the rename: a file must not have its name and lack its bytes after a power cut.
    if (kept == Kept::on_disk && ::fsync(descriptor_) != 0) {
        throw_error(errno, "write to the disk", path_);
    }
    finish();
    if (::rename(path_.c_str(), path.c_str()) != 0) fail_finish("rename a file to", path);
    if (kept == Kept::on_disk) sync_folder_of(path);
}

unique_function<void()> NewFile::opening(std::shared_ptr<NewFile> file) {
    return letting_go(std::move(file), [](NewFile& own) { own.open(); });
}
unique_function<void()> NewFile::writing(std::shared_ptr<NewFile> file, std::string bytes) {
    return letting_go(std::move(file),
                      [bytes = std::move(bytes)](NewFile& own) { own.write(bytes); });
}
unique_function<void()> NewFile::finishing(std::shared_ptr<NewFile> file) {
    return letting_go(std::move(file), [](NewFile& own) { own.finish(); });
}
unique_function<void()> NewFile::finishing_as(std::shared_ptr<NewFile> file, std::string path,
                                              Kept kept) {
    return letting_go(std::move(file),
                      [path = std::move(path), kept](NewFile& own) { own.finish_as(path, kept); });
}

void NewFile::dispose(std::shared_ptr<NewFile> file, core::WorkerPool* pool) {
    if (pool != nullptr) pool->submit([file = std::move(file)] {});
}

}  // namespace tiderace::task
