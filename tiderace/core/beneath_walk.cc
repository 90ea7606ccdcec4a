#include "tiderace/core/beneath_walk.h"

#include <fcntl.h>
#include <limits.h>
#include <unistd.h>

#include <cerrno>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace tiderace::core {
namespace {

constexpr int every_open = O_NOFOLLOW | O_CLOEXEC | O_NOCTTY;

// A directory on the way needs search permission only, not read permission.
#if defined(O_SEARCH)
constexpr int on_the_way = O_SEARCH | O_DIRECTORY;
#elif defined(O_PATH)
constexpr int on_the_way = O_PATH | O_DIRECTORY;
#else
constexpr int on_the_way = O_RDONLY | O_DIRECTORY;
#endif

// Errors by which systems report that O_NOFOLLOW met a link.
bool may_be_a_link(int error) {
#if defined(EFTYPE)
    if (error == EFTYPE) return true;
#endif
    return error == ELOOP || error == EMLINK || error == ENOTDIR;
}

// Does what openat2() with RESOLVE_BENEATH does, where it is absent: opens one name at a time,
// without following links, and puts a link's target in front of the rest of the path. So every name
// of every target is checked, and no step can leave the directory.
class Walk {
  public:
    Walk(int directory, int flags, Links links)
        : directory_(directory), at_(directory), flags_(flags), links_(links) {}
    ~Walk() { go_back(); }
    Walk(const Walk&) = delete;
    Walk& operator=(const Walk&) = delete;

    int open(const char* path) {
        if (!set_left(path)) return -ENAMETOOLONG;
        // The errors are openat2()'s, so that callers see no difference.
        if (left_.empty()) return -ENOENT;
        // An absolute path leaves the directory.
        if (left_.front() == '/') return -EXDEV;
        for (;;) {
            if (const auto outcome = take(next_step())) return *outcome;
        }
    }

  private:
    struct Step {
        std::string name;  // "." where the path ends at the directory itself
        bool last;
        bool wants_directory;
    };

    bool set_left(std::string path) {
        left_ = std::move(path);
        return left_.size() < PATH_MAX;
    }

    Step next_step() {
        const std::size_t end = left_.find('/');
        const std::size_t next = left_.find_first_not_of('/', end);
        Step step{.name = left_.substr(0, end),
                  .last = next == left_.npos,
                  .wants_directory = end != left_.npos};
        left_.erase(0, next);
        return step;
    }

    // The last step's descriptor, or -errno; nullopt: there is more to walk.
    std::optional<int> take(const Step& step) {
        // Links may make the path longer while it is walked, so the steps are also bounded.
        if (++steps_ > walk_steps_max) return -ELOOP;
        if (step.name == "..") return go_up(step.last);
        // Names the same directory again; as the last name it is opened anew, with the caller's
        // flags.
        if (step.name == "." && !step.last) return std::nullopt;
        const int how = step.last ? flags_ | (step.wants_directory ? O_DIRECTORY : 0) : on_the_way;
        const int fd = ::openat(at_, step.name.c_str(), how | every_open);
        if (fd < 0) return follow(step, errno);
        if (step.last) return fd;
        go_to(fd);
        walked_.push_back(step.name);
        return std::nullopt;
    }

    // The path so far holds no link, so the parent directory is the path without its last part. We
    // walk again from the start: opening ".." would leave the root if another process moved this
    // directory away meanwhile.
    std::optional<int> go_up(bool last) {
        // Above the directory.
        if (walked_.empty()) return -EXDEV;
        walked_.pop_back();
        std::string path;
        for (const std::string& name : std::exchange(walked_, {})) path.append(name).append("/");
        path.append(last ? "." : left_);
        go_back();
        if (!set_left(std::move(path))) return -ENAMETOOLONG;
        return std::nullopt;
    }

    std::optional<int> follow(const Step& step, int error) {
        // Any other failure is final; only a link can be followed.
        if (!may_be_a_link(error)) return -error;
        char target[PATH_MAX];
        const ssize_t bytes = ::readlinkat(at_, step.name.c_str(), target, sizeof target);
        if (bytes < 0) return -error;  // it is none
        if (links_ == Links::never || ++links_met_ > walk_links_max) return -ELOOP;
        // The caller wants the link itself refused.
        if (step.last && !step.wants_directory && (flags_ & O_NOFOLLOW) != 0) return -ELOOP;
        std::string path(target, static_cast<std::size_t>(bytes));
        if (path.empty()) return -ENOENT;
        if (path.front() == '/') return -EXDEV;
        // A link in the middle: the rest of the path continues from its target.
        if (step.wants_directory) path.append("/").append(left_);
        if (!set_left(std::move(path))) return -ENAMETOOLONG;
        return std::nullopt;
    }

    void go_to(int fd) {
        if (at_ != directory_) ::close(at_);
        at_ = fd;
    }
    void go_back() { go_to(directory_); }

    int directory_;  // the caller's
    int at_;
    int flags_;
    Links links_;
    std::string left_;                 // still to walk
    std::vector<std::string> walked_;  // from directory_ to at_
    int links_met_ = 0;
    int steps_ = 0;
};

}  // namespace

int open_by_walking(int directory, const char* path, int flags, Links links) {
    return Walk(directory, flags, links).open(path);
}

}  // namespace tiderace::core
