#include "server/config/write_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <system_error>

#include "tiderace/core/kernel.h"
#include "tiderace/core/whole_file.h"

namespace tiderace::server::config {
namespace {

using core::Descriptor;

Result<> write_all(const Descriptor& file, const std::string& path, std::string_view text) {
    const bool done = core::write_whole(file.get(), text) && ::fsync(file.get()) == 0;
    return done ? Result<>() : fail(Error::last("write", path));
}

}  // namespace

Result<> replace_file(const std::string& path, std::string_view text) {
    std::error_code fault;
    const std::string target = std::filesystem::canonical(path, fault).string();
    if (fault) return fail(Error(fault.value(), "read", path));
    struct stat facts{};
    if (::stat(target.c_str(), &facts) != 0) return fail(Error::last("read", path));
    if (!S_ISREG(facts.st_mode)) return fail(Error(EINVAL, "replace", path, "name a file"));
    std::string beside = target + ".XXXXXX";
    const Descriptor file(core::system_kernel(), ::mkostemp(beside.data(), O_CLOEXEC));
    if (!file) return fail(Error::last("write beside", path));
    // Only root may give a file away; of anybody else it is the writer's now.
    [[maybe_unused]] const int owned = ::fchown(file.get(), facts.st_uid, facts.st_gid);
    Result<> written = write_all(file, path, text);
    if (written && (::fchmod(file.get(), facts.st_mode & 07777) != 0 ||
                    ::rename(beside.c_str(), target.c_str()) != 0)) {
        written = fail(Error::last("write", path));
    }
    if (!written) ::unlink(beside.c_str());
    return written;
}

Result<> create_file(const std::string& path, std::string_view text) {
    const int flags = O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC;
    const Descriptor file(core::system_kernel(), ::open(path.c_str(), flags, 0666));
    if (!file) return fail(Error::last("write", path));
    Result<> written = write_all(file, path, text);
    if (!written) ::unlink(path.c_str());
    return written;
}

}  // namespace tiderace::server::config
