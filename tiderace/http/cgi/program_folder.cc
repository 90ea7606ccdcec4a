#include "tiderace/http/cgi/program_folder.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <memory>
#include <utility>

namespace tiderace::http::cgi {
namespace {

// Without waiting: opening a FIFO would hold the loop until something writes to it.
constexpr int open_flags = O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY;

std::vector<std::string> split_at_ampersands(std::string& name) {
    std::vector<std::string> words;
    std::size_t at = name.find('&');
    if (at == std::string::npos) return words;
    const std::string rest = name.substr(at + 1);
    name.resize(at);
    for (std::size_t begin = 0; begin <= rest.size();) {
        at = std::min(rest.find('&', begin), rest.size());
        words.push_back(rest.substr(begin, at - begin));
        begin = at + 1;
    }
    return words;
}

// ELOOP and EXDEV: a link that leads out of the folder is not found, as if it were not there.
bool is_absent(int error) {
    return error == -ENOENT || error == -ENOTDIR || error == -ELOOP || error == -EXDEV ||
           error == -ENAMETOOLONG;
}

}  // namespace

Result<ProgramFolder> ProgramFolder::open(core::Kernel& kernel, std::string path) {
    // Programs get it in SCRIPT_FILENAME, and run in another folder than we do.
    const std::unique_ptr<char, void (*)(void*)> whole(::realpath(path.c_str(), nullptr),
                                                       std::free);
    if (whole == nullptr) return fail(Error::last("open", path));
    path = whole.get();
    const int fd = ::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0) return fail(Error::last("open", path));
    return ProgramFolder(kernel, core::Descriptor(kernel, fd), std::move(path));
}

ProgramFolder::Opened ProgramFolder::find(ByteView path, bool arguments_by_ampersand) const {
    Opened opened;
    if (path.size() > path_bytes_max || !path.starts_with('/')) return opened;
    std::string tried;
    for (std::size_t begin = 1; begin < path.size();) {
        const std::size_t end = std::min(path.find('/', begin), path.size());
        std::string segment(path.substr(begin, end - begin));
        if (segment.empty() || segment.starts_with('.')) return opened;
        std::vector<std::string> arguments;
        if (arguments_by_ampersand) arguments = split_at_ampersands(segment);
        // From the folder at each step, not from the last one, so that the kernel checks the whole
        // path.
        tried.append(tried.empty() ? "" : "/").append(segment);
        const int fd =
            kernel_->open_beneath(folder_.get(), tried.c_str(), open_flags, core::Links::inside);
        if (fd < 0) {
            opened.error = -fd;
            opened.found = is_absent(fd)   ? Found::missing
                           : fd == -EACCES ? Found::refused
                                           : Found::failed;
            return opened;
        }
        core::Descriptor entry(*kernel_, fd);
        struct stat status{};
        if (kernel_->file_status(fd, &status) != 0) return opened;
        if (!S_ISDIR(status.st_mode)) {
            const bool may_run = S_ISREG(status.st_mode) && (status.st_mode & 0111) != 0;
            opened.found = may_run ? Found::program : Found::refused;
            opened.program = std::move(entry);
            opened.script = "/" + tried;
            opened.path_info = path.substr(end);
            opened.arguments = std::move(arguments);
            char mark[2] = {};
            opened.is_script = may_run && kernel_->read_at(fd, mark, sizeof mark, 0) == 2 &&
                               mark[0] == '#' && mark[1] == '!';
            return opened;
        }
        opened.folder = std::move(entry);
        begin = end + 1;
    }
    opened.folder.reset();
    return opened;  // a folder
}

bool ProgramFolder::has_file(ByteView path) const {
    if (path.size() < 2 || path.size() > path_bytes_max || path.find("/.") != ByteView::npos) {
        return false;
    }
    const std::string name(path.substr(1));
    const int fd =
        kernel_->open_beneath(folder_.get(), name.c_str(), open_flags, core::Links::inside);
    if (fd < 0) return false;
    const core::Descriptor entry(*kernel_, fd);
    struct stat status{};
    return kernel_->file_status(fd, &status) == 0 && S_ISREG(status.st_mode);
}

}  // namespace tiderace::http::cgi
