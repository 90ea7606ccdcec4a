// ChangeNotices by kqueue's vnode filter. A directory reports that its entries changed, not which,
// and nothing about the content of its files, so each file is watched on its own.
#include <fcntl.h>
#include <sys/event.h>
#include <sys/mount.h>
#include <sys/param.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <map>
#include <utility>

#include "tiderace/core/change_notices.h"
#include "tiderace/core/kernel.h"

namespace tiderace::core {
namespace {

using NoticeKind = ChangeNotice::Kind;
using Event = struct kevent;

constexpr unsigned of_interest =
    NOTE_WRITE | NOTE_EXTEND | NOTE_ATTRIB | NOTE_LINK | NOTE_DELETE | NOTE_RENAME | NOTE_REVOKE;

// Each watch holds a descriptor; the others are for connections and files.
constexpr std::size_t watches_max = 256;

class VnodeNotices final : public ChangeNotices {
  public:
    explicit VnodeNotices(Descriptor queue) : queue_(std::move(queue)) {}

    int descriptor() const override { return queue_.get(); }
    bool reports_names() const override { return false; }

    // A directory reports its entries only, whichever.
    Result<int> watch(int fd, std::string_view) override {
        struct stat status{};
        if (::fstat(fd, &status) != 0) return fail(Error::last("look at", "what to watch"));
        const Identity identity{static_cast<std::uint64_t>(status.st_dev),
                                static_cast<std::uint64_t>(status.st_ino)};
        // One object may have several names (hard links); kqueue has one filter for each
        // descriptor.
        if (const auto known = by_identity_.find(identity); known != by_identity_.end()) {
            return known->second;
        }
        if (watched_.size() >= watches_max) {
            return fail(Error(ENOSPC, "watch", "a file for changes", "there are too many"));
        }
        // A duplicate, because the filter ends when its descriptor is closed by its owner.
        Descriptor held(system_kernel(), ::fcntl(fd, F_DUPFD_CLOEXEC, 0));
        if (!held) return fail(Error::last("watch", "a file for changes"));
        Event change{};
        // EV_CLEAR: a change is reported once. Without it, it would be in every turn.
        EV_SET(&change, static_cast<std::uintptr_t>(held.get()), EVFILT_VNODE, EV_ADD | EV_CLEAR,
               of_interest, 0, nullptr);
        if (::kevent(queue_.get(), &change, 1, nullptr, 0, nullptr) < 0) {
            return fail(Error::last("watch", "a file for changes"));
        }
        const int id = held.get();
        by_identity_.emplace(identity, id);
        watched_.emplace(id, Watched{std::move(held), identity, S_ISDIR(status.st_mode)});
        return id;
    }

    void forget(int id) override {
        const auto gone = watched_.find(id);
        if (gone == watched_.end()) return;
        by_identity_.erase(gone->second.identity);
        watched_.erase(gone);  // closing ends the filter
    }

    const std::vector<ChangeNotice>& take() override {
        notices_.clear();
        std::array<Event, 128> events;
        for (;;) {
            const struct timespec at_once{};
            const int got = ::kevent(queue_.get(), nullptr, 0, events.data(),
                                     static_cast<int>(events.size()), &at_once);
            if (got < 0 && errno == EINTR) continue;
            if (got <= 0) return notices_;
            for (int i = 0; i < got; ++i) add(events[static_cast<std::size_t>(i)]);
            if (notices_.size() >= notices_max) notices_.assign(1, ChangeNotice{});
        }
    }

  private:
    using Identity = std::pair<std::uint64_t, std::uint64_t>;  // device, inode
    struct Watched {
        Descriptor held;
        Identity identity;
        bool is_directory = false;
    };

    void add(const Event& event) {
        const int id = static_cast<int>(event.ident);
        const auto known = watched_.find(id);
        // An event of a watch that was forgotten meanwhile.
        if (known == watched_.end()) return;
        const auto what = static_cast<unsigned>(event.fflags);
        if ((what & (NOTE_DELETE | NOTE_RENAME | NOTE_REVOKE)) != 0) {
            notices_.push_back({id, NoticeKind::moved, ""});
        }
        // A directory's own data are its entries.
        const bool entries =
            known->second.is_directory && (what & (NOTE_WRITE | NOTE_EXTEND | NOTE_LINK)) != 0;
        notices_.push_back({id, entries ? NoticeKind::entry : NoticeKind::content, ""});
    }

    Descriptor queue_;
    std::map<int, Watched> watched_;
    std::map<Identity, int> by_identity_;
    std::vector<ChangeNotice> notices_;
};

}  // namespace

Result<std::unique_ptr<ChangeNotices>> open_change_notices() {
    const int fd = ::kqueue();
    if (fd < 0) return fail(Error::last("watch", "files for changes"));
    ::fcntl(fd, F_SETFD, FD_CLOEXEC);
    return std::make_unique<VnodeNotices>(Descriptor(system_kernel(), fd));
}

bool is_remote(int fd) {
#if defined(MNT_LOCAL) && !defined(__NetBSD__)
    struct statfs system{};
    return ::fstatfs(fd, &system) == 0 && (system.f_flags & MNT_LOCAL) == 0;
#else
    (void)fd;
    return false;
#endif
}

}  // namespace tiderace::core
