// ChangeNotices by inotify.
#include <sys/inotify.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <unordered_map>

#include "tiderace/core/change_notices.h"
#include "tiderace/core/kernel.h"

namespace tiderace::core {
namespace {

using NoticeKind = ChangeNotice::Kind;

// Writes through a memory map raise no IN_MODIFY; the close after them raises IN_CLOSE_WRITE.
constexpr std::uint32_t of_content = IN_MODIFY | IN_CLOSE_WRITE | IN_ATTRIB;
constexpr std::uint32_t of_entries = IN_CREATE | IN_DELETE | IN_MOVED_FROM | IN_MOVED_TO;
constexpr std::uint32_t of_itself = IN_DELETE_SELF | IN_MOVE_SELF;

// The events that the watches of one directory report.
struct Wanted {
    // Names are looked through for every event; more than a few are cheaper reported.
    static constexpr std::size_t entries_max = 16;

    bool all = false;
    std::vector<std::string> entries;

    bool has(std::string_view name) const {
        return all || std::ranges::find(entries, name) != entries.end();
    }
    void add(std::string_view name) {
        if (name.empty() || (!has(name) && entries.size() == entries_max)) all = true;
        if (all) {
            entries.clear();
        } else if (!has(name)) {
            entries.emplace_back(name);
        }
    }
};

class Inotify final : public ChangeNotices {
  public:
    explicit Inotify(Descriptor descriptor) : descriptor_(std::move(descriptor)) {}

    int descriptor() const override { return descriptor_.get(); }
    bool reports_names() const override { return true; }

    Result<int> watch(int fd, std::string_view only_entry) override {
        // By the descriptor: its path may lead elsewhere by now.
        const std::string name = "/proc/self/fd/" + std::to_string(fd);
        // A directory that is watched already keeps reporting what it reported before.
        const std::uint32_t events = IN_MASK_ADD | of_entries | of_itself |
                                     (only_entry.empty() ? of_content : std::uint32_t{});
        const int id = ::inotify_add_watch(descriptor_.get(), name.c_str(), events);
        if (id >= 0) {
            wanted_[id].add(only_entry);
            return id;
        }
        return fail(Error::last("watch", "a folder for changes",
                                errno == ENOSPC   ? "raise fs.inotify.max_user_watches"
                                : errno == ENOENT ? "mount /proc"
                                                  : ""));
    }

    void forget(int id) override {
        wanted_.erase(id);
        // The kernel answers with IN_IGNORED, reported as `ended`. Ids are not used again soon,
        // because they count upwards.
        ::inotify_rm_watch(descriptor_.get(), id);
    }

    const std::vector<ChangeNotice>& take() override {
        notices_.clear();
        // At least one event with the longest name, or read() fails with EINVAL (inotify(7)).
        alignas(inotify_event) std::array<char, 16'384> buffer;
        for (;;) {
            const ssize_t got = ::read(descriptor_.get(), buffer.data(), buffer.size());
            if (got < 0 && errno == EINTR) continue;
            if (got <= 0) return notices_;
            read_events({buffer.data(), static_cast<std::size_t>(got)});
            // Too many: one notice of loss covers all of them.
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
        // The kernel's queue overflowed: an empty notice means that anything may have changed.
        if ((event.mask & IN_Q_OVERFLOW) != 0) {
            notices_.push_back({});
        } else if ((event.mask & (IN_IGNORED | IN_UNMOUNT)) != 0) {
            // The kernel has ended the watch: the object was deleted, its file system unmounted, or
            // we had requested it.
            wanted_.erase(event.wd);
            notices_.push_back({event.wd, NoticeKind::ended, ""});
        } else if ((event.mask & (IN_MOVE_SELF | IN_DELETE_SELF)) != 0) {
            notices_.push_back({event.wd, NoticeKind::moved, ""});
        } else if (is_wanted(event.wd, name)) {
            const bool entry = (event.mask & of_entries) != 0;
            notices_.push_back(
                {event.wd, entry ? NoticeKind::entry : NoticeKind::content, std::string(name)});
        }
    }

    // A busy directory reports many names that are in no watch: they end here.
    bool is_wanted(int id, std::string_view name) const {
        const auto found = wanted_.find(id);
        return found != wanted_.end() && found->second.has(name);
    }

    Descriptor descriptor_;
    std::unordered_map<int, Wanted> wanted_;
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

// On a network file system, changes by other machines raise no notice here.
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
