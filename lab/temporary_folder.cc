#include "lab/temporary_folder.h"

#include <stdlib.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

namespace tiderace::lab {

namespace fs = std::filesystem;

Result<TemporaryFolder> TemporaryFolder::make(std::string_view name) {
    std::error_code fault;
    const fs::path place = fs::temp_directory_path(fault);
    // Its path is empty then, and the folder would be made where the user happens to be.
    if (fault) {
        return fail(Error(fault.value(), "find", "the folder for temporary files",
                          "TMPDIR has to name one that exists"));
    }
    std::string path = place / std::string(name).append("-XXXXXX");
    if (::mkdtemp(path.data()) == nullptr) return fail(Error::last("make folder", path));
    return TemporaryFolder(std::move(path));
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
