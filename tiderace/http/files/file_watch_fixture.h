// The fixture of the tests of FileWatch: a site whose notices a script reports, names or loses.
#pragma once

#include <sys/stat.h>

#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tiderace/http/files/file_watch.h"
#include "tiderace/testing/static_site.h"

namespace tiderace::http::files {

// The object that opened its notices last, and the faults to inject.
struct Script {
    bool open_fails = false;
    int watches_max = 1 << 20;
    int watch_fails = 0;         // the next watches
    bool names = true;           // false: as kqueue reports
    bool loses = false;          // the next notices are lost
    int watches = 0;             // that were begun
    std::set<int> watched = {};  // that were not ended
    int takes = 0;
    std::size_t notices = 0;  // taken
    int opened = 0;
    int calls = 0;  // that began or ended a watch
    // An event before so many further calls of that kind.
    int happens_before = -1;
    std::function<void()> happens = {};

    void count_call() {
        ++calls;
        if (happens && happens_before-- == 0) std::exchange(happens, {})();
    }
};
inline Script script;

class ScriptedNotices final : public core::ChangeNotices {
  public:
    int descriptor() const override { return real_->descriptor(); }
    bool reports_names() const override { return script.names; }
    Result<int> watch(int fd, std::string_view only_entry) override {
        script.count_call();
        if (script.watches >= script.watches_max || script.watch_fails > 0) {
            --script.watch_fails;
            return fail(Error(ENOSPC, "watch", "a folder", "raise the limit"));
        }
        ++script.watches;
        auto id = real_->watch(fd, script.names ? only_entry : std::string_view());
        if (id) {
            script.watched.insert(*id);
            struct stat status{};
            EXPECT_EQ(::fstat(fd, &status), 0);
            directories_[*id] = S_ISDIR(status.st_mode);
        }
        return id;
    }
    void forget(int id) override {
        script.count_call();
        script.watched.erase(id);
        real_->forget(id);
    }
    const std::vector<core::ChangeNotice>& take() override {
        ++script.takes;
        taken_ = real_->take();
        script.notices += taken_.size();
        if (std::exchange(script.loses, false)) taken_.assign(1, core::ChangeNotice{});
        if (script.names) return taken_;
        // A directory reports its entries and no content.
        std::erase_if(taken_, [&](const core::ChangeNotice& each) {
            return each.kind == core::ChangeNotice::Kind::content && directories_[each.id] &&
                   !each.name.empty();
        });
        for (core::ChangeNotice& each : taken_) each.name.clear();
        return taken_;
    }

  private:
    std::unique_ptr<core::ChangeNotices> real_ = std::move(*core::open_change_notices());
    std::map<int, bool> directories_;
    std::vector<core::ChangeNotice> taken_;
};

inline Result<std::unique_ptr<core::ChangeNotices>> open_scripted() {
    ++script.opened;
    if (script.open_fails) return fail(Error(EMFILE, "watch", "files", "raise the limit"));
    return std::make_unique<ScriptedNotices>();
}

class FileWatchTest : public testing::StaticSite {
  protected:
    FileWatchTest() {
        script = {};
        options_.watch.on = true;
        options_.watch.notices = std::make_shared<core::SharedNotices>(&open_scripted);
        options_.cache.revalidate = 24h;  // nothing here is seen because time has passed
    }

    // The next turn, in which the next request comes; no time passes.
    std::string next(std::string_view target, Fields fields = {}) {
        loop_->turn(0s);
        auto& answer = get(target, std::move(fields));
        return answer.status() == 200 ? answer.body() : std::to_string(answer.status());
    }
    void rename(const std::string& from, const std::string& to) {
        ASSERT_EQ(std::rename(folder_.path_of(from).c_str(), folder_.path_of(to).c_str()), 0);
    }
    void remove_all(const std::string& name) { std::filesystem::remove_all(folder_.path_of(name)); }
    const FileCache& cache() { return server().cache(); }
};

}  // namespace tiderace::http::files
