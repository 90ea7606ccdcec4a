// ChangeNotices by inotify.
#include <sys/inotify.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>

#include "tiderace/core/change_notices.h"
#include "tiderace/core/kernel.h"

namespace tiderace::core {
namespace {

using NoticeKind = ChangeNotice::Kind;

// Closing after writing tells of what was written through a memory map.
constexpr std::uint32_t of_interest = IN_MODIFY | IN_CLOSE_WRITE | IN_ATTRIB | IN_CREATE |
                                      IN_DELETE | IN_MOVED_FROM | IN_MOVED_TO | IN_DELETE_SELF |
                                      IN_MOVE_SELF;

class Inotify final : public ChangeNotices {
  public:
    explicit Inotify(Descriptor descriptor) : descriptor_(std::move(descriptor)) {}

    int descriptor() const override { return descriptor_.get(); }
    bool reports_names() const override { return true; }

    Result<int> watch(int fd) override {
        // By the descriptor: its path may lead elsewhere by now.
        const std::string name = "/proc/self/fd/" + std::to_string(fd);
        const int id = ::inotify_add_watch(descriptor_.get(), name.c_str(), of_interest);
        if (id >= 0) return id;
        return fail(Error::last("watch", "a folder for changes",
                                errno == ENOSPC   ? "raise fs.inotify.max_user_watches"
                                : errno == ENOENT ? "mount /proc"
                                                  : ""));
    }

    void forget(int id) override { ::inotify_rm_watch(descriptor_.get(), id); }

    const std::vector<ChangeNotice>& take() override {
        notices_.clear();
        alignas(inotify_event) std::array<char, 16'384> buffer;
        for (;;) {
            const ssize_t got = ::read(descriptor_.get(), buffer.data(), buffer.size());
            if (got < 0 && errno == EINTR) continue;
            if (got <= 0) return notices_;
            read_events({buffer.data(), static_cast<std::size_t>(got)});
            // All else is covered by this one.
            if (notices_.size() >= notices_max) notices_.assign(1, ChangeNotice{});
        }
    }

  private:
    void read_events(std::string_view events) {
        while (events.size() >= sizeof(inotify_event)) {
            inotify_event event;
            std::memcpy(&event, events.data(), sizeof event);
            // The name is padded with zeros.
            const char* const name = events.data() + sizeof event;
            add(event, {name, ::strnlen(name, event.len)});
            events.remove_prefix(sizeof event + event.len);
        }
    }

    void add(const inotify_event& event, std::string_view name) {
        if ((event.mask & IN_Q_OVERFLOW) != 0) {
            notices_.push_back({});
        } else if ((event.mask & (IN_IGNORED | IN_UNMOUNT)) != 0) {
            notices_.push_back({event.wd, NoticeKind::ended, ""});
        } else if ((event.mask & (IN_MOVE_SELF | IN_DELETE_SELF)) != 0) {
            notices_.push_back({event.wd, NoticeKind::moved, ""});
        } else {
            const bool entry =
                (event.mask & (IN_CREATE | IN_DELETE | IN_MOVED_FROM | IN_MOVED_TO)) != 0;
            notices_.push_back(
                {event.wd, entry ? NoticeKind::entry : NoticeKind::content, std::string(name)});
        }
    }

    Descriptor descriptor_;
    std::vector<ChangeNotice> notices_;
};

}  // namespace

Result<std::unique_ptr<ChangeNotices>> open_change_notices() {
    const int fd = ::inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
    if (fd < 0) {
        return fail(Error::last("watch", "files for changes",
                                errno == EMFILE ? "raise fs.inotify.max_user_instances" : ""));
    }
    return std::make_unique<Inotify>(Descriptor(system_kernel(), fd));
}

bool is_remote(int fd) {
    struct statfs system{};
    if (::fstatfs(fd, &system) != 0) return false;
    switch (static_cast<std::uint32_t>(system.f_type)) {
        case 0x6969:      // NFS
        case 0x517B:      // SMB
        case 0xFF534D42:  // CIFS
        case 0xFE534D42:  // SMB2
        case 0x01021997:  // 9P
        case 0x65735546:  // FUSE
        case 0x00C36400:  // Ceph
        case 0x5346414F:  // AFS
        case 0x6B414653:  // AFS, the kernel's own
        case 0x73757245:  // Coda
        case 0x01161970:  // GFS2
        case 0x7461636F:  // OCFS2
        case 0x0BD00BD0:  // Lustre
        case 0x786F4256:  // a folder of VirtualBox' host
            return true;
        default:
            return false;
    }
}

}  // namespace tiderace::core
