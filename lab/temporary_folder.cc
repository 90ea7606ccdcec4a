#include "lab/temporary_folder.h"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <fstream>
#include <utility>

#include "tiderace/net/folder_lock.h"

namespace tiderace::lab {

namespace fs = std::filesystem;

namespace {

constexpr std::string_view random_end = "-XXXXXX";
constexpr int tries_max = 100;

// Nothing: it is gone, no folder, or locked by its process. Where there are no locks it depends.
core::Descriptor lock(const std::string& path, bool is_enough_without) {
    // A link of that name could lead to anything.
    core::Descriptor folder(core::system_kernel(),
                            ::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
    if (!folder) return {};
    const net::FolderLock result = net::lock_folder(folder.get(), Duration::zero());
    const bool may_use = result == net::FolderLock::taken ||
                         (result == net::FolderLock::unavailable && is_enough_without);
    struct stat opened{};
    struct stat named{};
    // Its name may have gone between the two calls.
    const bool is_it = ::fstat(folder.get(), &opened) == 0 && ::lstat(path.c_str(), &named) == 0 &&
                       opened.st_dev == named.st_dev && opened.st_ino == named.st_ino &&
                       opened.st_uid == ::geteuid();
    return may_use && is_it ? std::move(folder) : core::Descriptor();
}

void remove_leftovers(const fs::path& place, std::string_view name) {
    std::error_code fault;
    for (fs::directory_iterator each(place, fault); !fault && each != fs::directory_iterator();
         each.increment(fault)) {
        const std::string found = each->path().filename().string();
        // The same length, or "lab" would take the folders of "lab-site".
        if (!found.starts_with(std::string(name) + '-') ||
            found.size() != name.size() + random_end.size()) {
            continue;
        }
        if (!lock(each->path().string(), false)) continue;
        std::error_code stays;
        fs::remove_all(each->path(), stays);
    }
}

}  // namespace

Result<TemporaryFolder> TemporaryFolder::make(std::string_view name) {
    std::error_code fault;
    const fs::path place = fs::temp_directory_path(fault);
    // Its path is empty then, and the folder would be made where the user happens to be.
    if (fault) {
        return fail(Error(fault.value(), "find", "the folder for temporary files",
                          "TMPDIR has to name one that exists"));
    }
    remove_leftovers(place, name);
    // Another process may take the new folder for a leftover, until it is locked.
    for (int tries = 0; tries < tries_max; ++tries) {
        std::string path = place / std::string(name).append(random_end);
        if (::mkdtemp(path.data()) == nullptr) return fail(Error::last("make folder", path));
        core::Descriptor locked = lock(path, true);
        if (locked) return TemporaryFolder(std::move(path), std::move(locked));
        ::rmdir(path.c_str());
    }
    return fail(Error(EBUSY, "make a folder in", place.string(), "others remove it at once"));
}

TemporaryFolder::~TemporaryFolder() {
    std::error_code ignored;
    // Empty: moved from, and the folder is another's to remove.
    if (!path_.empty()) fs::remove_all(path_, ignored);
}

Result<> TemporaryFolder::write(const std::string& name, std::string_view text) const {
    const std::string path = path_ + '/' + name;
    std::ofstream file(path, std::ios::binary);
    file << text;
    // A full disk shows when the buffer is written, and a destructor reports nothing.
    file.flush();
    if (!file) return fail(Error::last("write", path));
    return {};
}

}  // namespace tiderace::lab
