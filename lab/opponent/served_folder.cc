#include "lab/opponent/served_folder.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <array>
#include <cerrno>

#include "tiderace/base/ascii.h"
#include "tiderace/http/wire/canonical_path.h"

namespace tiderace::lab::opponent {
namespace {

constexpr std::size_t path_bytes_max = 4096;

int status_of(int error) {
    // As our own server answers, so that no comparison is one of answers.
    switch (error) {
        case -EACCES:
        case -EPERM:
            return 403;
        case -EMFILE:
        case -ENFILE:
        case -ENOMEM:
            return 503;
        default:
            return 404;
    }
}

// What may stand in a Location: all but the unreserved and '/' as escapes.
std::string escaped(std::string_view path) {
    // The path is decoded by now: sent as it is, a space or a line end would break the head.
    std::string out;
    for (const char letter : path) {
        const bool plain = is_letter_or_digit(letter) || std::string_view("/-._~").contains(letter);
        if (plain) {
            out += letter;
        } else {
            append_percent_escape(out, letter);
        }
    }
    return out;
}

}  // namespace

// Held open: a folder that is renamed or replaced meanwhile does not change what is served.
Result<ServedFolder> ServedFolder::open(const std::string& path) {
    const int fd = ::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0) return fail(Error::last("open folder", path));
    return ServedFolder(core::Descriptor(core::system_kernel(), fd));
}

ServedFile ServedFolder::find(std::string_view path) const {
    std::array<char, path_bytes_max> scratch;
    const auto made = http::wire::canonicalize(path.substr(0, path.find('?')), scratch);
    if (made.fault != http::wire::PathFault::none) return {.status = 400};
    // As our own server answers: the comparison would not be one if a name led to more here.
    if (made.hidden) return {.status = 404};
    std::string name(made.path.substr(1));
    if (made.trailing_slash) name += "index.html";

    core::Kernel& kernel = core::system_kernel();
    constexpr int flags = O_RDONLY | O_CLOEXEC | O_NONBLOCK;  // a fifo must not hold us
    const int fd = kernel.open_beneath(folder_.get(), name.c_str(), flags, core::Links::inside);
    if (fd < 0) return {.status = status_of(fd)};
    core::Descriptor file(kernel, fd);
    struct stat facts{};
    if (kernel.file_status(fd, &facts) != 0) return {.status = 404};
    if (S_ISDIR(facts.st_mode)) {
        // A folder of the name index.html: to redirect would lead to the same again.
        if (made.trailing_slash) return {.status = 404};
        return {.status = 301, .location = escaped(made.path) + '/'};
    }
    if (!S_ISREG(facts.st_mode)) return {.status = 403};
    return {.status = 200,
            .file = std::move(file),
            .bytes = static_cast<std::uint64_t>(facts.st_size),
            .type = types_.type_of(name)};
}

}  // namespace tiderace::lab::opponent
