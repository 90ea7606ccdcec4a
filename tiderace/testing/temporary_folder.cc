#include "tiderace/testing/temporary_folder.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>

#include "tiderace/base/check.h"

namespace tiderace::testing {

TemporaryFolder::TemporaryFolder() {
    path_ = (std::filesystem::temp_directory_path() / "tiderace_test_XXXXXX").string();
    TR_CHECK(::mkdtemp(path_.data()) != nullptr);
}

TemporaryFolder::~TemporaryFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
}

std::string TemporaryFolder::path_of(std::string_view name) const {
    return path_ + '/' + std::string(name);
}

void TemporaryFolder::make_parent(std::string_view name) const {
    std::filesystem::create_directories(std::filesystem::path(path_of(name)).parent_path());
}

void TemporaryFolder::write(std::string_view name, std::string_view bytes) const {
    make_parent(name);
    const int fd = ::open(path_of(name).c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
    TR_CHECK(fd >= 0);
    while (!bytes.empty()) {
        const ssize_t written = ::write(fd, bytes.data(), bytes.size());
        TR_CHECK(written > 0);
        bytes.remove_prefix(static_cast<std::size_t>(written));
    }
    ::close(fd);
}

void TemporaryFolder::replace(std::string_view name, std::string_view bytes) const {
    // Renamed over the old one, so that a reader sees either of them whole.
    const std::string beside = std::string(name) + ".being-written";
    write(beside, bytes);
    TR_CHECK(::rename(path_of(beside).c_str(), path_of(name).c_str()) == 0);
}

void TemporaryFolder::truncate(std::string_view name, std::size_t bytes) const {
    TR_CHECK(::truncate(path_of(name).c_str(), static_cast<off_t>(bytes)) == 0);
}

void TemporaryFolder::remove(std::string_view name) const {
    TR_CHECK(std::filesystem::remove_all(path_of(name)) > 0);
}

void TemporaryFolder::make_folder(std::string_view name) const {
    std::filesystem::create_directories(path_of(name));
}

void TemporaryFolder::make_fifo(std::string_view name) const {
    TR_CHECK(::mkfifo(path_of(name).c_str(), 0644) == 0);
}

void TemporaryFolder::link(std::string_view name, std::string_view target) const {
    make_parent(name);
    TR_CHECK(::symlink(std::string(target).c_str(), path_of(name).c_str()) == 0);
}

void TemporaryFolder::set_time(std::string_view name, long seconds) const {
    const timespec times[2] = {{seconds, 0}, {seconds, 0}};
    TR_CHECK(::utimensat(AT_FDCWD, path_of(name).c_str(), times, 0) == 0);
}

}  // namespace tiderace::testing
