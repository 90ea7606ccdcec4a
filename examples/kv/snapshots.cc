#include "examples/kv/snapshots.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#if defined(__linux__)
#include <sys/prctl.h>
#endif

#include <signal.h>

#include <cerrno>
#include <cstdio>
#include <ctime>
#include <filesystem>
#include <system_error>

#include "examples/kv/append_log.h"
#include "examples/kv/replay.h"
#include "examples/kv/snapshot_writer.h"

namespace kv {
namespace {

using tiderace::Error;
using tiderace::fail;

std::string part_path(const std::string& folder, std::uint64_t number) {
    return snapshot_path(folder, number) + ".part";
}

// The child holds nothing that its parent, or the next one, may need: ports above all.
void leave_parent([[maybe_unused]] pid_t parent) {
#if defined(__linux__)
    // Without its parent a snapshot is never renamed. The parent may have ended before this call.
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    // Not compared with 1, because that is the parent itself in a container.
    if (::getppid() != parent) ::_exit(1);
#endif
    constexpr int descriptors_max = 65'536;
    const long open_max = ::sysconf(_SC_OPEN_MAX);
    const int end =
        open_max > 0 && open_max < descriptors_max ? static_cast<int>(open_max) : descriptors_max;
    for (int fd = 3; fd < end; ++fd) ::close(fd);
}

}  // namespace

std::string snapshot_path(const std::string& folder, std::uint64_t number) {
    return folder + "/snapshot-" + std::to_string(number);
}

Snapshots::~Snapshots() {
    if (child_ <= 0) return;
    ::kill(child_, SIGKILL);
    ::waitpid(child_, nullptr, 0);
}

Result<> Snapshots::begin(Keyspace& keys, std::uint64_t number) {
    // Or the child would write the parent's buffered output again.
    std::fflush(nullptr);
    const pid_t parent = ::getpid();
    const pid_t child = ::fork();
    if (child < 0) return fail(Error::last("fork", "for a snapshot"));
    if (child == 0) {
        leave_parent(parent);
        const auto written = write_snapshot(keys, part_path(folder_, number));
        if (!written) std::fprintf(stderr, "kv: %s\n", written.error().message().c_str());
        ::_exit(written ? 0 : 1);
    }
    child_ = child;
    number_ = number;
    return {};
}

void Snapshots::poll() {
    if (child_ <= 0) return;
    int status = 0;
    const pid_t ended = ::waitpid(child_, &status, WNOHANG);
    if (ended == 0 || (ended < 0 && errno == EINTR)) return;
    // Any other fault too: without a child to wait for there will be no news of it.
    child_ = 0;
    last_succeeded_ = ended > 0 && WIFEXITED(status) && WEXITSTATUS(status) == 0;
    if (last_succeeded_) {
        if (const auto kept = keep(number_); !kept) {
            std::fprintf(stderr, "kv: %s\n", kept.error().message().c_str());
            last_succeeded_ = false;
        }
    } else {
        std::fputs("kv: a snapshot failed; the log and the last one stay\n", stderr);
    }
    // Its part would take the room of the next attempt on a full disk.
    if (!last_succeeded_) ::unlink(part_path(folder_, number_).c_str());
}

Result<> Snapshots::save(Keyspace& keys, std::uint64_t number) {
    if (running()) return fail(Error(0, "snapshot", "already in progress"));
    if (auto written = write_snapshot(keys, part_path(folder_, number)); !written) return written;
    return keep(number);
}

Result<> Snapshots::keep(std::uint64_t number) {
    const std::string path = snapshot_path(folder_, number);
    if (::rename(part_path(folder_, number).c_str(), path.c_str()) != 0) {
        return fail(Error::last("rename", path));
    }
    // Before older files are removed: until the rename is on the disk they are all there is.
    if (auto synced = sync_folder(folder_); !synced) return synced;
    struct stat status{};
    if (::stat(path.c_str(), &status) == 0) bytes_ = static_cast<std::uint64_t>(status.st_size);
    generation_ = number;
    last_save_ = std::time(nullptr);
    remove_older(folder_, number);
    return {};
}

}  // namespace kv
