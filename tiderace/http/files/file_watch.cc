#include "tiderace/http/files/file_watch.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <new>
#include <utility>

#include "tiderace/base/check.h"

namespace tiderace::http::files {
namespace {

using NoticeKind = core::ChangeNotice::Kind;

// Walking needs names, not contents: O_PATH works without the right to read a directory.
constexpr int as_a_place = O_DIRECTORY | O_CLOEXEC |
#if defined(O_PATH)
                           O_PATH;
#else
                           O_RDONLY;
#endif
// Bound for the names in a link's target and in the links that it leads to.
constexpr int link_parts_max = 64;

// The first name of a path, taken off it.
std::string take_name(std::string& path) {
    const std::size_t slash = path.find('/');
    std::string name = path.substr(0, slash);
    path.erase(0, slash == std::string::npos ? slash : slash + 1);
    return name;
}

// Where the link `name` in `directory` leads; "" if it is none.
std::string target_of(int directory, const char* name) {
    char target[4096];
    const ssize_t bytes = ::readlinkat(directory, name, target, sizeof target);
    return {target, static_cast<std::size_t>(std::max<ssize_t>(bytes, 0))};
}

core::Descriptor open_place(int at, const char* name, int flags = 0) {
    return {core::system_kernel(), ::openat(at, name, as_a_place | flags)};
}

template <typename Table>
void erase_beneath(Table& table, ByteView folder, auto&& each) {
    for (auto at = table.lower_bound(folder); at != table.end();) {
        if (!ByteView(at->first).starts_with(folder)) break;
        each(*at);
        at = table.erase(at);
    }
}

}  // namespace

FileWatch::FileWatch(core::EventLoop& loop, FileCache& cache, std::string root_path,
                     core::Links links, Duration looks_every, const FileWatchOptions& options)
    : loop_(&loop),
      cache_(&cache),
      root_path_(std::move(root_path)),
      links_(links),
      looks_every_(looks_every),
      options_(options) {
    // All loops of a server share one queue of the kernel's, of which each user has few.
    if (!options_.notices) options_.notices = std::make_shared<core::SharedNotices>();
    auto notices = core::NoticeReader::create(loop, options_.notices, *this);
    if (!notices) {
        give_up(notices.error());
        return;
    }
    notices_ = std::move(*notices);
    watch_root();
}

// --- what is watched -------------------------------------------------------------------------

// May throw bad_alloc; the watches it has begun are dropped with the next loss of notices.
void FileWatch::cover(ByteView path) {
    if (!notices_) return;
    const ByteView folder = path.substr(0, path.rfind('/') + 1);
    // If a folder is watched, so are those above it.
    if (folders_.contains(folder)) return;
    // From the root down: a folder above that was replaced would make the one below another one.
    for (std::size_t slash = 0; slash < folder.size(); slash = path.find('/', slash + 1)) {
        const ByteView above = folder.substr(0, slash + 1);
        if (!folders_.contains(above) && !add_folder(above)) return;
    }
}

bool FileWatch::add_folder(ByteView folder) {
    if (folders_.size() >= options_.watches_max) {
        log_once(Trouble::full, "there are more folders than we may watch");
        return false;
    }
    const FileLoader::Opened opened = cache_->loader().open(folder);
    if (opened.found != Found::directory) return false;
    const auto id = watch(opened.descriptor.get());
    if (!id) return false;
    watched_[*id].folders.emplace_back(folder);
    folders_.emplace(folder, *id);
    // It is watched anyway: changes by this machine are reported.
    if (core::is_remote(opened.descriptor.get())) {
        log_once(Trouble::remote, "other machines may change a network file system");
    }
    if (folder != "/") follow_link(folder.substr(0, folder.size() - 1));
    return true;
}

bool FileWatch::follow(ByteView path, ByteView suffix) {
    // Without names, a folder does not report changes of a file's content, so files are watched,
    // too.
    if (!notices_) return false;
    const std::string whole = std::string(path).append(suffix);
    const bool is_new = !notices_->reports_names() && watch_file(whole);
    return follow_link(whole) || is_new;
}

bool FileWatch::watch_file(ByteView path) {
    if (files_.contains(path) || files_.size() >= options_.watches_max) return false;
    const FileLoader::Opened opened = cache_->loader().open(path);
    if (opened.found != Found::file) return false;
    const auto id = watch(opened.descriptor.get());
    if (!id) return false;
    watched_[*id].files.emplace_back(path);
    files_.emplace(path, *id);
    return true;
}

// A link's own name is in a watched folder; the names that it leads through may not be.
bool FileWatch::follow_link(ByteView path) {
    if (links_ == core::Links::never || followed_.contains(path)) return false;
    const std::size_t slash = path.rfind('/');
    const std::string name(path.substr(1));
    const int root = cache_->loader().root();
    if (target_of(root, name.c_str()).empty()) return false;
    followed_.emplace(path);
    const std::string parent = slash > 0 ? std::string(path.substr(1, slash - 1)) : ".";
    walk(open_place(root, parent.c_str()), std::string(path.substr(slash + 1)), path);
    return true;
}

// A root that is deployed anew is another directory, or link, under the same name in its parent.
void FileWatch::watch_root() {
    std::string path = root_path_;
    while (path.size() > 1 && path.back() == '/') path.pop_back();
    const std::size_t slash = path.rfind('/');
    const std::string name = slash == std::string::npos ? path : path.substr(slash + 1);
    // Such a root has no name of its own in a parent, so nothing can replace it by name.
    if (name.empty() || name == "." || name == "..") return;
    const std::string parent = slash == std::string::npos ? "." : path.substr(0, slash + 1);
    walk(open_place(AT_FDCWD, parent.c_str()), name, {});
}

// Watches each name that `rest`, seen from `at`, leads through, links included. It only reads
// names; the loader decides whether a file may be served.
void FileWatch::walk(core::Descriptor at, std::string rest, ByteView link) {
    // Resolves the links itself, one name at a time, because the kernel would not report which
    // names it passed. link_parts_max ends a circle of links.
    for (int part = 0; part < link_parts_max && at && !rest.empty(); ++part) {
        const std::string name = take_name(rest);
        if (name.empty() || name == ".") continue;
        if (name == "..") {
            at = open_place(at.get(), "..");
            continue;
        }
        if (parts_ >= options_.watches_max) return log_once(Trouble::full, "too many links");
        // A link may lead to a file, whose content counts. The root is a folder, and its
        // parent may be a busy one, such as /tmp.
        const auto id = watch(at.get(), link.empty() ? ByteView(name) : ByteView());
        if (!id) return;
        watched_[*id].parts.push_back({name, std::string(link)});
        ++parts_;
        const std::string target = target_of(at.get(), name.c_str());
        if (!target.empty()) {
            // An absolute link begins at the system's root again.
            if (target.front() == '/') at = open_place(AT_FDCWD, "/");
            rest = rest.empty() ? target : target + '/' + rest;
        } else if (!rest.empty()) {
            at = open_place(at.get(), name.c_str(), O_NOFOLLOW);
        }
    }
}

std::optional<int> FileWatch::watch(int fd, ByteView only_entry) {
    auto id = notices_->watch(fd, only_entry);
    if (id) return *id;
    log_once(Trouble::watch, id.error().message());
    return std::nullopt;
}

// --- what changed ----------------------------------------------------------------------------

void FileWatch::on_notices() {
    loop_->assert_on_loop();
    if (loop_->now() - takes_since_ >= 1s) {
        takes_since_ = loop_->now();
        takes_ = 0;
    }
    // A program that writes all the time must not keep an idle loop busy, so notices are then taken
    // with requests only.
    if (++takes_ > options_.takes_per_second_max) return pause();
    take();
}

void FileWatch::pause() {
    paused_ = true;
    if (const auto paused = notices_->listen(false); !paused) give_up(paused.error());
}

// This turn's notices were taken before its first request. A second request of the turn may have
// been sent after a later change, whose notice is not taken yet; so they are taken again.
bool FileWatch::is_second_of_turn(SlotId connection) {
    const bool again = asker_ == connection && asked_in_turn_ == loop_->turns();
    asker_ = connection;
    asked_in_turn_ = loop_->turns();
    return !std::exchange(asked_twice_, again) && again;
}

void FileWatch::take_late() {
    taken_in_turn_ = loop_->turns();
    take();
    if (!paused_ || loop_->now() - takes_since_ < 1s) return;
    paused_ = false;
    if (const auto listens = notices_->listen(true); !listens) give_up(listens.error());
}

void FileWatch::take() {
    if (!notices_) return;
    try {
        names_appeared_ = false;
        const std::vector<core::ChangeNotice>& notices = notices_->take();
        if (!notices.empty() && notices.front().kind == NoticeKind::lost) return lose_all();
        for (const core::ChangeNotice& notice : notices) heed(notice);
        // Any new name may complete a path that was missing.
        if (names_appeared_) cache_->expire_missing();
    } catch (const std::bad_alloc&) {
        lose_all();
    }
}

void FileWatch::heed(const core::ChangeNotice& notice) {
    if (notice.kind == NoticeKind::lost) return lose_all();
    const auto found = watched_.find(notice.id);
    if (found == watched_.end()) return;    // reported before the watch was forgotten
    const Watched watched = found->second;  // copied, because the calls below forget some of it
    if (notice.kind == NoticeKind::moved || notice.kind == NoticeKind::ended) {
        for (const std::string& folder : watched.folders) changed_folder(folder);
        for (const std::string& file : watched.files) {
            expire_name(file);
            files_.erase(file);
        }
        for (const Part& part : watched.parts) changed_link(part.link);
        // Renamed, it is still watched under its new name, where its changes mean nothing to us.
        if (notice.kind == NoticeKind::moved) notices_->forget(notice.id);
        if (const auto left = watched_.find(notice.id); left != watched_.end()) {
            parts_ -= left->second.parts.size();
            watched_.erase(left);
        }
        return;
    }
    for (const std::string& folder : watched.folders) changed_in(folder, notice);
    for (const std::string& file : watched.files) expire_name(file);
    for (const Part& part : watched.parts) {
        if (notice.name.empty() || part.name == notice.name) changed_link(part.link);
    }
}

void FileWatch::changed_in(ByteView folder, const core::ChangeNotice& notice) {
    names_appeared_ |= notice.kind == NoticeKind::entry;
    // kqueue reports no names: anything in the folder may have changed.
    if (notice.name.empty()) {
        cache_->expire_beneath(folder);
        if (notice.kind == NoticeKind::entry) changed_folder(folder);
        return;
    }
    const std::string path = std::string(folder).append(notice.name);
    expire_name(path);
    if (notice.kind == NoticeKind::entry) cache_->expire(folder);  // its index, perhaps
    if (folders_.contains(path + '/')) changed_folder(path + '/');
}

// The folder was renamed, replaced, or got other rights: everything beneath it may differ.
void FileWatch::changed_folder(ByteView folder) {
    names_appeared_ = true;
    if (folder == "/") root_may_differ_ = true;
    cache_->expire_beneath(folder);
    forget_beneath(folder);
}

void FileWatch::changed_link(ByteView link) {
    if (link.empty()) {
        root_may_differ_ = true;
        return;
    }
    const std::string path(link);
    expire_name(path);
    changed_folder(path + '/');
    forget_link(path);
}

// Expires the answers made of this name: its own, a compressed sibling's file, a
// page without its ".html".
void FileWatch::expire_name(ByteView path) {
    cache_->expire(path);
    for (const ByteView suffix :
         {ByteView(".gz"), ByteView(".br"), ByteView(".zst"), ByteView(".html")}) {
        if (path.ends_with(suffix)) cache_->expire(path.substr(0, path.size() - suffix.size()));
    }
}

// --- what is no longer watched ---------------------------------------------------------------

void FileWatch::forget_beneath(ByteView folder) {
    const std::string prefix(folder);
    erase_beneath(folders_, prefix, [&](const auto& each) {
        std::erase(watched_[each.second].folders, each.first);
        release(each.second);
    });
    erase_beneath(files_, prefix, [&](const auto& each) {
        std::erase(watched_[each.second].files, each.first);
        release(each.second);
    });
    std::vector<std::string> links;
    for (auto at = followed_.lower_bound(prefix); at != followed_.end() && at->starts_with(prefix);
         ++at) {
        links.push_back(*at);
    }
    for (const std::string& link : links) forget_link(link);
    if (prefix != "/") forget_link(ByteView(prefix).substr(0, prefix.size() - 1));
}

void FileWatch::forget_link(ByteView link) {
    const auto followed = followed_.find(link);
    if (followed == followed_.end()) return;
    const std::string path = *followed;
    followed_.erase(followed);
    std::vector<int> touched;
    for (auto& [id, watched] : watched_) {
        const std::size_t gone =
            std::erase_if(watched.parts, [&](const Part& part) { return part.link == path; });
        if (gone == 0) continue;
        parts_ -= gone;
        touched.push_back(id);
    }
    for (const int id : touched) release(id);
}

// The parts with an empty link belong to the root's own path: see watch_root().
void FileWatch::forget_root() {
    std::vector<int> touched;
    for (auto& [id, watched] : watched_) {
        const std::size_t gone =
            std::erase_if(watched.parts, [](const Part& part) { return part.link.empty(); });
        parts_ -= gone;
        if (gone > 0) touched.push_back(id);
    }
    for (const int id : touched) release(id);
}

void FileWatch::release(int id) {
    const auto found = watched_.find(id);
    if (found == watched_.end() || !found->second.empty()) return;
    notices_->forget(id);
    watched_.erase(found);
}

// Neither the cache nor the watches can be trusted: both begin anew.
void FileWatch::lose_all() {
    cache_->expire_all();
    root_may_differ_ = true;
    for (const auto& [id, watched] : watched_) notices_->forget(id);
    watched_.clear();
    folders_.clear();
    files_.clear();
    followed_.clear();
    parts_ = 0;
}

bool FileWatch::root_was_compared(bool replaced) {
    const bool again = root_may_differ_ || replaced;
    if (replaced) lose_all();
    // lose_all() has set it again, but the comparison is done.
    root_may_differ_ = false;
    if (!again || !notices_) return false;
    // The root's link may lead through other names by now.
    forget_root();
    watch_root();
    return true;
}

// --- what cannot be watched ------------------------------------------------------------------

void FileWatch::give_up(const Error& error) {
    if (notices_) lose_all();
    // Entries that only a notice would have expired must not stay valid until the next comparison.
    notices_.reset();
    log_once(Trouble::none, error.message());
}

void FileWatch::log_once(Trouble trouble, ByteView why) {
    const auto bit = static_cast<std::uint8_t>(1U << static_cast<unsigned>(trouble));
    // Once for each kind of trouble: it would otherwise be logged with every folder.
    if (!options_.logs || loop_->log() == nullptr || (logged_ & bit) != 0) return;
    logged_ |= bit;
    loop_->log()->warning(
        "files", "some changed files show only when they are compared with the disk",
        log::field("every", format_duration(looks_every_)), log::field("because", why));
}

}  // namespace tiderace::http::files
