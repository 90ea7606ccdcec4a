// Internal. FileWatch: expires entries of the file cache as soon as the kernel reports a change, so
// that the next request sees it.
//
//   request -> FileCache: unknown or expired -> cover(path): every folder on the way is watched
//                                            -> the disk is read -> follow(path): so is where its
//                                               links lead through
//   change  -> kernel's notice -> expire: the name, what is made of it, all beneath a folder
//
// Folders are watched before the disk is read, so a change is seen by the read or reported after
// it. Notices are taken before the requests that a turn of the loop receives, and again before the
// second request of a connection in one turn, which may have been sent later. Otherwise a hit costs
// two loads; when notices come too often to be taken one by one, they are taken with the next
// request instead.
//
// The cache still compares with the disk periodically: for changes that no kernel reports
// (core/change_notices.h), and where watching is not possible. The log names such places.
//
// Owner    StaticFiles, one per loop. Borrows the loop, the cache and its loader.
// Thread   The loop's.
// Errors   No notices, no watch left, no memory: the log reports it once with the remedy, and the
//          cache's own checks remain.
// Limits   FileWatchOptions: watches_max folders, and as many parts of links.
// Memory   The kernel's 1 KiB, and some 300 bytes here, for each watched folder.
// Keywords: inotify, cache invalidation
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

#include "tiderace/base/slot_map.h"
#include "tiderace/core/event_loop.h"
#include "tiderace/core/shared_notices.h"
#include "tiderace/http/files/file_cache.h"

namespace tiderace::http::files {

struct FileWatchOptions {
    bool on = true;
    bool logs = true;                // one of several loops logs why something is not watched
    std::size_t watches_max = 4096;  // folders of one loop
    std::size_t takes_per_second_max = 100;  // more: with the next request
    // Shared by all loops of the process, which hold it; none: this loop has its own.
    std::shared_ptr<core::SharedNotices> notices;
};

class FileWatch final : private core::NoticeReader::Receiver {
  public:
    // `root_path` is the name of the directory that `cache` serves: it may become another.
    FileWatch(core::EventLoop& loop, FileCache& cache, std::string root_path, core::Links links,
              Duration looks_every, const FileWatchOptions& options);
    FileWatch(const FileWatch&) = delete;
    FileWatch& operator=(const FileWatch&) = delete;

    // Call before the disk is read for `path`.
    void cover(ByteView path);
    // Call after a file was found at `path` followed by `suffix`. True: a folder on the way is
    // watched only now, so the disk has to be read again.
    bool follow(ByteView path, ByteView suffix = {});
    // Before a request of `connection` looks into the cache.
    void catch_up(SlotId connection) {
        if (!notices_) return;
        const bool late = is_second_of_turn(connection) || notices_->behind();
        if (late || (paused_ && taken_in_turn_ != loop_->turns())) take_late();
    }

    // The root's path may lead elsewhere by now.
    bool root_may_differ() const { return root_may_differ_; }
    // Compared with the disk: `replaced`, and nothing that was watched counts any more, or not.
    // True: the root is watched anew, so that it has to be compared once more.
    bool root_was_compared(bool replaced);

    bool working() const { return notices_ != nullptr; }
    std::size_t watches() const { return watched_.size(); }

  private:
    // A name that a link leads through: when it changes, what the link stands for does.
    struct Part {
        std::string name;
        std::string link;  // its path; "" for the root's
    };
    struct Watched {
        std::vector<std::string> folders;  // as requests name them: "/a/b/"
        std::vector<std::string> files;    // likewise, where folders do not report names
        std::vector<Part> parts;

        bool empty() const { return folders.empty() && files.empty() && parts.empty(); }
    };
    enum class Trouble : std::uint8_t { none, watch, full, remote };

    bool is_second_of_turn(SlotId connection);
    void on_notices() override;
    void take_late();
    void take();
    void pause();
    void heed(const core::ChangeNotice& notice);
    void changed_in(ByteView folder, const core::ChangeNotice& notice);
    void changed_link(ByteView link);
    void changed_folder(ByteView folder);
    void expire_name(ByteView path);
    void forget_beneath(ByteView folder);
    void forget_link(ByteView link);
    void release(int id);
    void lose_all();
    bool add_folder(ByteView folder);
    bool follow_link(ByteView path);
    bool watch_file(ByteView path);
    void watch_root();
    void forget_root();
    void walk(core::Descriptor at, std::string rest, ByteView link);
    std::optional<int> watch(int fd, ByteView only_entry = {});
    void give_up(const Error& error);
    void log_once(Trouble trouble, ByteView why);

    core::EventLoop* loop_;
    FileCache* cache_;
    std::string root_path_;
    core::Links links_;
    Duration looks_every_;
    FileWatchOptions options_;
    std::unordered_map<int, Watched> watched_;
    std::map<std::string, int, std::less<>> folders_;  // to the ids of what watches them
    std::map<std::string, int, std::less<>> files_;
    std::set<std::string, std::less<>> followed_;  // links
    std::size_t parts_ = 0;
    bool root_may_differ_ = false;
    bool names_appeared_ = false;  // in what is being taken
    bool paused_ = false;
    std::size_t takes_ = 0;  // since takes_since_
    Instant takes_since_{};
    std::uint64_t taken_in_turn_ = 0;
    SlotId asker_;  // of the last request, which came in asked_in_turn_
    std::uint64_t asked_in_turn_ = 0;
    bool asked_twice_ = false;
    std::uint8_t logged_ = 0;                      // a bit for each Trouble
    std::unique_ptr<core::NoticeReader> notices_;  // nullptr: nothing is reported
};

}  // namespace tiderace::http::files
