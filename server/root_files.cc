#include "server/root_files.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <iterator>
#include <ranges>
#include <system_error>
#include <utility>

#include "tiderace/base/thread_name.h"
#include "tiderace/core/kernel.h"

namespace tiderace::server {
namespace {

constexpr mode_t log_mode = 0640;
// A received descriptor must not pass to a program that another thread starts meanwhile.
#if defined(MSG_CMSG_CLOEXEC)
constexpr int closed_on_exec = MSG_CMSG_CLOEXEC;
#else
constexpr int closed_on_exec = 0;
#endif

int open_flags(RootFiles::Use use) {
    // Neither a FIFO nor a terminal in the place of a file may hold up or take over the process.
    constexpr int any = O_CLOEXEC | O_NONBLOCK | O_NOCTTY;
    return use == RootFiles::Use::append ? any | O_WRONLY | O_APPEND | O_CREAT : any | O_RDONLY;
}

std::string folder_of(const std::string& path) {
    const std::size_t slash = path.rfind('/');
    if (slash == std::string::npos) return ".";
    return slash == 0 ? "/" : path.substr(0, slash);
}

bool may_remove_from(const std::string& folder) {
    struct stat status{};
    return ::access(folder.c_str(), W_OK | X_OK) == 0 && ::stat(folder.c_str(), &status) == 0 &&
           // In a folder with the sticky bit only a file's owner may remove it, and that was root.
           (status.st_mode & S_ISVTX) == 0;
}

bool may_use(const RootFiles::File& file) {
    // access(2) judges by the real user: right only once root is given up, as needed() is called.
    switch (file.use) {
        case RootFiles::Use::read:
            return ::access(file.path.c_str(), R_OK) == 0;
        case RootFiles::Use::append:
            return ::access(file.path.c_str(), W_OK) == 0 &&
                   // The folder as well, for the new file after a rotation.
                   ::access(folder_of(file.path).c_str(), W_OK | X_OK) == 0;
        case RootFiles::Use::remove:
            break;
    }
    return may_remove_from(folder_of(file.path));
}

bool is_changed_by_root_only(const std::string& folder, bool sticky_is_enough) {
    struct stat status{};
    if (::stat(folder.c_str(), &status) != 0) return false;
    // The owner of a folder may change it whatever its mode is.
    if (status.st_uid != 0 && status.st_uid != ::geteuid()) return false;
    if ((status.st_mode & (S_IWGRP | S_IWOTH)) == 0) return true;
    return sticky_is_enough && (status.st_mode & S_ISVTX) != 0;
}

constexpr int links_max = 40;  // as the kernel's own

// The names of a path, the first of them at the end.
void push_names(std::vector<std::filesystem::path>& names, const std::filesystem::path& path) {
    std::vector<std::filesystem::path> in_order(path.begin(), path.end());
    std::ranges::move(in_order | std::views::reverse, std::back_inserter(names));
}

// Whether root alone can change which file it is. Otherwise the helper does not keep it: a link
// that the server's user has made would have it open any file of the machine.
//
// The path is walked as the kernel does it, because each folder on the way counts, also behind
// links: renaming one, or repointing a link in it, replaces all that is behind it. In a folder
// that is only passed the sticky bit is enough (/tmp), which keeps others from renaming what is not
// theirs. In the last one it is not, because there others may make the file before us.
bool is_safe(const RootFiles::File& file) {
    std::error_code fault;
    std::vector<std::filesystem::path> names;
    push_names(names, std::filesystem::absolute(file.path, fault).relative_path());
    std::filesystem::path at = "/";
    for (int links = 0; !fault && !names.empty();) {
        const std::filesystem::path name = std::move(names.back());
        names.pop_back();
        const bool is_last = names.empty();
        if (name == "..") {
            at = at.parent_path();  // `at` has no link in it
            continue;
        }
        if (name.empty() || name == ".") continue;
        if (!is_changed_by_root_only(at.string(), !is_last)) return false;
        struct stat status{};
        const std::filesystem::path next = at / name;
        // A log may not be there yet. Without a folder on the way the start fails.
        if (::lstat(next.c_str(), &status) != 0) return is_last;
        // A link for reading is followed: certificates are often links (Let's Encrypt's "live"). A
        // log's is not (answer()), and a name that is removed is its own file.
        const bool is_followed =
            S_ISLNK(status.st_mode) && (!is_last || file.use == RootFiles::Use::read);
        if (!is_followed) {
            at = next;
            continue;
        }
        if (++links > links_max || (status.st_uid != 0 && status.st_uid != ::geteuid())) {
            return false;
        }
        const std::filesystem::path target = std::filesystem::read_symlink(next, fault);
        if (target.is_absolute()) at = "/";
        push_names(names, target.relative_path());
    }
    return !fault;
}

// A folder of root's, in which a link is root's own: no other user can have made or replaced it.
bool may_follow_links_in(int folder) {
    struct stat status{};
    return ::fstat(folder, &status) == 0 && (status.st_uid == 0 || status.st_uid == ::geteuid()) &&
           (status.st_mode & (S_IWGRP | S_IWOTH)) == 0;
}

// open(2) as root, on a path that others may change: folder by folder, each from the one before, so
// that it can be replaced at any time by a link without leading us away. Links in folders of root's
// alone are followed, but for the last name.
int open_past_links(const std::string& path, int flags) {
    constexpr int folder_flags = O_RDONLY | O_DIRECTORY | O_CLOEXEC;
    core::Kernel& kernel = core::system_kernel();
    std::error_code fault;
    std::vector<std::filesystem::path> names;
    push_names(names, std::filesystem::absolute(path, fault).relative_path());
    core::Descriptor at(kernel, ::open("/", folder_flags));
    for (int links = 0; at && !names.empty();) {
        const std::string name = names.back().string();
        names.pop_back();
        if (name.empty() || name == ".") continue;
        if (names.empty()) return ::openat(at.get(), name.c_str(), flags | O_NOFOLLOW, log_mode);
        core::Descriptor next(kernel, ::openat(at.get(), name.c_str(), folder_flags | O_NOFOLLOW));
        if (next) {
            at = std::move(next);
            continue;
        }
        const int code = errno;
        std::array<char, 4'096> target{};
        const ssize_t bytes = ::readlinkat(at.get(), name.c_str(), target.data(), target.size());
        if (bytes < 0) {
            errno = code;
            return -1;
        }
        if (++links > links_max || !may_follow_links_in(at.get())) {
            errno = ELOOP;
            return -1;
        }
        const std::filesystem::path to(std::string(target.data(), static_cast<std::size_t>(bytes)));
        if (to.is_absolute()) at = core::Descriptor(kernel, ::open("/", folder_flags));
        push_names(names, to.relative_path());
    }
    if (at) errno = EISDIR;
    return -1;
}

// The helper keeps `socket`, as 3, and no other inherited descriptor. Its standard streams lead to
// /dev/null, so that readers of the server's streams see their end when the server ends.
int keep_only(int socket) {
    // Absent in a bare chroot: then the streams stay as they are, and their readers see the end
    // when the helper has ended, too.
    const int nowhere = ::open("/dev/null", O_RDWR);
    for (const int stream : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) ::dup2(nowhere, stream);
    constexpr int kept = 3;  // the first behind the streams, so that all from 4 on can be closed
    ::dup2(socket, kept);
#if defined(__linux__)
    // Absent before Linux 5.9.
    if (::close_range(kept + 1, ~0U, 0) == 0) return kept;
#endif
    const long most = std::min(::sysconf(_SC_OPEN_MAX), 65'536L);
    for (int fd = kept + 1; fd < most; ++fd) ::close(fd);
    return kept;
}

template <typename T>
bool read_whole(int socket, T& message) {
    auto* bytes = reinterpret_cast<char*>(&message);
    for (std::size_t got = 0; got < sizeof message;) {
        const ssize_t piece = ::recv(socket, bytes + got, sizeof message - got, 0);
        if (piece < 0 && errno == EINTR) continue;
        if (piece <= 0) return false;
        got += static_cast<std::size_t>(piece);
    }
    return true;
}

}  // namespace

struct RootFiles::Request {
    std::uint64_t number;  // of the file
    std::uint64_t device;  // remove: which one it must be
    std::uint64_t inode;
};

struct RootFiles::Reply {
    int code;  // 0, or an errno value
};

//   server (gives up root)                       helper (stays root)
//     number of a file  ------socketpair------>  opens files[number], or removes it
//     a descriptor      <-----SCM_RIGHTS-------
//
// Forked before there are threads: only the calling thread exists in a child.
Result<std::unique_ptr<RootFiles>> RootFiles::start(std::vector<File> files) {
    std::erase_if(files, [](const File& file) { return !is_safe(file); });
    if (files.size() > files_max) {
        return fail(Error(E2BIG, "keep root for", std::to_string(files.size()) + " files"));
    }
    int ends[2];
    if (::socketpair(AF_UNIX, SOCK_STREAM, 0, ends) != 0) {
        return fail(Error::last("start", "the process that opens files as root"));
    }
    for (const int end : ends) ::fcntl(end, F_SETFD, FD_CLOEXEC);
    const pid_t helper = ::fork();
    if (helper == 0) help(files, ends[1]);
    // The error of fork(), before close() can change it.
    const int code = errno;
    ::close(ends[1]);
    if (helper < 0) {
        ::close(ends[0]);
        return fail(Error(code, "start", "the process that opens files as root"));
    }
    return std::unique_ptr<RootFiles>(new RootFiles(std::move(files), ends[0], helper));
}

RootFiles::~RootFiles() {
    // The helper's read ends with this, and so does the helper.
    ::close(socket_);
    while (::waitpid(helper_, nullptr, 0) < 0 && errno == EINTR) {
    }
}

bool RootFiles::needed() const {
    return !std::ranges::all_of(files_, may_use);
}

int RootFiles::open_directly(const std::string& path, Use use) {
    return ::open(path.c_str(), open_flags(use), log_mode);
}

// The helper opens only what our own rights do not allow.
int RootFiles::open(const std::string& path, Use use) {
    // At the start this process still is root. A link in a folder of the server's user would have
    // the log written to any file of the machine, so none is followed there.
    const bool is_kept = std::ranges::any_of(
        files_, [&](const File& each) { return each.use == use && each.path == path; });
    const bool is_trap = use == Use::append && !is_kept && ::geteuid() == 0;
    const int opened = is_trap ? open_past_links(path, open_flags(use)) : open_directly(path, use);
    if (opened >= 0 || (errno != EACCES && errno != EPERM)) return opened;
    return ask(path, use, 0, 0);
}

void RootFiles::remove(const std::string& path, dev_t device, ino_t inode) {
    ask(path, Use::remove, device, inode);
}

int RootFiles::ask(const std::string& path, Use use, dev_t device, ino_t inode) {
    // Only a number goes to the helper: a server that was taken over cannot name any other file.
    const auto file = std::ranges::find_if(
        files_, [&](const File& each) { return each.use == use && each.path == path; });
    if (file == files_.end()) {
        errno = EACCES;
        return -1;
    }
    const Request request{.number = static_cast<std::uint64_t>(file - files_.begin()),
                          .device = static_cast<std::uint64_t>(device),
                          .inode = static_cast<std::uint64_t>(inode)};
    // One request at a time: replies have no numbers, so two threads could get each other's files.
    const std::lock_guard lock(asking_);
    Reply reply{EACCES};
    iovec piece{&reply, sizeof reply};
    alignas(cmsghdr) std::array<char, CMSG_SPACE(sizeof(int))> room{};
    msghdr message{};
    message.msg_iov = &piece;
    message.msg_iovlen = 1;
    message.msg_control = room.data();
    message.msg_controllen = room.size();
    // Neither blocks nor is cut: 24 bytes, and one request at a time. With the helper gone it is
    // EPIPE, since the server ignores SIGPIPE.
    ssize_t got = ::send(socket_, &request, sizeof request, 0);
    if (got == static_cast<ssize_t>(sizeof request)) {
        do {
            got = ::recvmsg(socket_, &message, closed_on_exec);
        } while (got < 0 && errno == EINTR);
    }
    // The helper has ended. EACCES is what the open itself failed with, so that the caller reports
    // the file and not the helper.
    if (got != static_cast<ssize_t>(sizeof reply)) {
        errno = EACCES;
        return -1;
    }
    int opened = -1;
    if (const cmsghdr* part = CMSG_FIRSTHDR(&message);
        part != nullptr && part->cmsg_type == SCM_RIGHTS) {
        std::memcpy(&opened, CMSG_DATA(part), sizeof opened);
        if (closed_on_exec == 0) ::fcntl(opened, F_SETFD, FD_CLOEXEC);
    }
    errno = reply.code;
    return opened;
}

// ---- the helper's side --------------------------------------------------------------------------

void RootFiles::help(const std::vector<File>& files, int socket) {
    name_this_thread("tr-root-files");
    socket = keep_only(socket);
    // A Ctrl-C of the terminal is the server's. The helper ends when the server's end is closed.
    sigset_t all;
    sigfillset(&all);
    ::sigprocmask(SIG_SETMASK, &all, nullptr);
    Request request{};
    while (read_whole(socket, request)) {
        int opened = -1;
        Reply reply = answer(files, request, opened);
        iovec piece{&reply, sizeof reply};
        alignas(cmsghdr) std::array<char, CMSG_SPACE(sizeof(int))> room{};
        msghdr message{};
        message.msg_iov = &piece;
        message.msg_iovlen = 1;
        if (opened >= 0) {
            message.msg_control = room.data();
            message.msg_controllen = room.size();
            cmsghdr* part = CMSG_FIRSTHDR(&message);
            part->cmsg_level = SOL_SOCKET;
            part->cmsg_type = SCM_RIGHTS;
            part->cmsg_len = CMSG_LEN(sizeof opened);
            std::memcpy(CMSG_DATA(part), &opened, sizeof opened);
        }
        const ssize_t sent = ::sendmsg(socket, &message, 0);
        if (opened >= 0) ::close(opened);
        if (sent != static_cast<ssize_t>(sizeof reply)) break;
    }
    ::_exit(0);
}

RootFiles::Reply RootFiles::answer(const std::vector<File>& files, const Request& request,
                                   int& opened) {
    if (request.number >= files.size()) return {EACCES};
    const File& file = files[request.number];
    if (file.use != Use::remove) {
        // Never write through a link: one in the place of the log would choose the file.
        const int flags = open_flags(file.use) | (file.use == Use::append ? O_NOFOLLOW : 0);
        opened = ::open(file.path.c_str(), flags, log_mode);
        return {opened >= 0 ? 0 : errno};
    }
    struct stat now{};
    if (::lstat(file.path.c_str(), &now) != 0) return {errno};
    const bool same = static_cast<std::uint64_t>(now.st_dev) == request.device &&
                      static_cast<std::uint64_t>(now.st_ino) == request.inode;
    // Only the socket that this server has made.
    if (!S_ISSOCK(now.st_mode) || !same) return {ENOENT};
    return {::unlink(file.path.c_str()) == 0 ? 0 : errno};
}

}  // namespace tiderace::server
