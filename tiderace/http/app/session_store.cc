#include "tiderace/http/app/session_store.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <chrono>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <limits>
#include <list>
#include <memory>
#include <mutex>
#include <string_view>
#include <system_error>
#include <unordered_map>
#include <utility>
#include <vector>

#include "tiderace/base/ascii.h"
#include "tiderace/base/check.h"
#include "tiderace/base/keyed_hash.h"
#include "tiderace/base/random.h"
#include "tiderace/base/unique_function.h"
#include "tiderace/core/whole_file.h"
#include "tiderace/http/wire/query.h"
#include "tiderace/task/new_file.h"
#include "tiderace/task/offload.h"

namespace tiderace::http {

std::optional<std::string> SessionStore::value_in(std::string_view text, std::string_view name) {
    std::string room(text.size(), '\0');
    wire::QueryPairs pairs(text, room);
    while (const auto pair = pairs.next()) {
        if (pair->name == name) return std::string(pair->value);
    }
    return std::nullopt;
}

// A bounded table in the order of use.
class MemorySessions::Table {
  public:
    explicit Table(std::size_t sessions_max) : sessions_max_(sessions_max) {}

    std::optional<Found> load(const std::string& key, UnixSeconds now);
    void save(std::string key, std::string data, UnixSeconds expires);
    Replaced replace(const std::string& key, const std::string& before, std::string data,
                     UnixSeconds expires);
    bool prolong(const std::string& key, UnixSeconds expires);
    std::optional<std::string> take(const std::string& key);
    std::size_t size() const {
        const std::lock_guard guard(lock_);
        return entries_.size();
    }

  private:
    struct Entry {
        std::string key;
        std::string data;
        UnixSeconds expires;
    };
    using Entries = std::list<Entry>;  // the last used first

    // The entry, which is the last used from here on; nullptr: none.
    Entry* used_locked(const std::string& key);

    const std::size_t sessions_max_;
    mutable std::mutex lock_;
    Entries entries_;
    std::unordered_map<std::string, Entries::iterator, KeyedHash, std::equal_to<>> by_key_;
};

std::optional<SessionStore::Found> MemorySessions::Table::load(const std::string& key,
                                                               UnixSeconds now) {
    const std::lock_guard guard(lock_);
    const auto known = by_key_.find(key);
    if (known == by_key_.end()) return std::nullopt;
    const Entries::iterator entry = known->second;
    if (entry->expires <= now) {
        by_key_.erase(known);
        entries_.erase(entry);
        return std::nullopt;
    }
    entries_.splice(entries_.begin(), entries_, entry);
    return Found{entry->data, entry->expires};
}

MemorySessions::Table::Entry* MemorySessions::Table::used_locked(const std::string& key) {
    const auto known = by_key_.find(key);
    if (known == by_key_.end()) return nullptr;
    entries_.splice(entries_.begin(), entries_, known->second);
    return &*known->second;
}

SessionStore::Replaced MemorySessions::Table::replace(const std::string& key,
                                                      const std::string& before, std::string data,
                                                      UnixSeconds expires) {
    const std::lock_guard guard(lock_);
    Entry* const entry = used_locked(key);
    if (entry == nullptr) return Replaced::gone;
    if (entry->data != before) return Replaced::changed;
    entry->data = std::move(data);
    entry->expires = expires;
    return Replaced::done;
}

bool MemorySessions::Table::prolong(const std::string& key, UnixSeconds expires) {
    const std::lock_guard guard(lock_);
    Entry* const entry = used_locked(key);
    if (entry != nullptr) entry->expires = expires;
    return entry != nullptr;
}

void MemorySessions::Table::save(std::string key, std::string data, UnixSeconds expires) {
    const std::lock_guard guard(lock_);
    if (Entry* const entry = used_locked(key); entry != nullptr) {
        entry->data = std::move(data);
        entry->expires = expires;
        return;
    }
    // The one that was used least recently. Expired ones are not looked for: they are at the end of
    // the list sooner or later, because load() moves only live ones to its front.
    if (entries_.size() >= sessions_max_) {
        by_key_.erase(entries_.back().key);
        entries_.pop_back();
    }
    entries_.push_front({key, std::move(data), expires});
    by_key_.emplace(std::move(key), entries_.begin());
}

std::optional<std::string> MemorySessions::Table::take(const std::string& key) {
    const std::lock_guard guard(lock_);
    const auto known = by_key_.find(key);
    if (known == by_key_.end()) return std::nullopt;
    std::string data = std::move(known->second->data);
    entries_.erase(known->second);
    by_key_.erase(known);
    return data;
}

MemorySessions::MemorySessions(std::size_t sessions_max)
    : table_(std::make_unique<Table>(sessions_max)) {
    TR_CHECK(sessions_max > 0, "a store of sessions has room for one");
}
MemorySessions::~MemorySessions() = default;

task::Task<std::optional<SessionStore::Found>> MemorySessions::load(std::string key,
                                                                    UnixSeconds now) {
    co_return table_->load(key, now);
}

task::Task<> MemorySessions::save(std::string key, std::string data, UnixSeconds expires) {
    table_->save(std::move(key), std::move(data), expires);
    co_return;
}

task::Task<SessionStore::Replaced> MemorySessions::replace(std::string key, std::string before,
                                                           std::string data, UnixSeconds expires) {
    co_return table_->replace(key, before, std::move(data), expires);
}

task::Task<bool> MemorySessions::prolong(std::string key, UnixSeconds expires) {
    co_return table_->prolong(key, expires);
}

task::Task<std::optional<std::string>> MemorySessions::take(std::string key) {
    co_return table_->take(key);
}

std::size_t MemorySessions::size() const {
    return table_->size();
}

namespace {

namespace fs = std::filesystem;

[[noreturn]] void throw_error(const char* operation, const std::string& path, int code) {
    throw fs::filesystem_error(operation, path, std::error_code(code, std::generic_category()));
}

// nullopt: there is no such file. Every other failure is thrown, because a session that cannot be
// read now (descriptors ran out, say) is not one that has ended.
std::optional<std::string> read_file(const std::string& path) {
    // O_NONBLOCK: a FIFO in the folder must not hold the thread.
    const core::Descriptor file(core::system_kernel(),
                                ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
    if (!file && errno == ENOENT) return std::nullopt;
    if (!file) throw_error("open a session", path, errno);
    std::string text;
    // The expiry takes at most 20 digits and a line's end; a longer file is not one of ours.
    const int code = core::read_whole(file.get(), text, SessionStore::data_bytes_max + 32);
    if (code != 0 && code != EFBIG) throw_error("read a session", path, code);
    return text;
}

// A file is its expiry, a line's end and the data. nullopt: none, or not one of ours.
std::optional<SessionStore::Found> read_session(const std::string& path) {
    const std::optional<std::string> file = read_file(path);
    if (!file) return std::nullopt;
    const std::string_view text = *file;
    UnixSeconds expires = 0;
    const auto [end, fault] = std::from_chars(text.data(), text.data() + text.size(), expires);
    if (fault != std::errc{} || end == text.data() + text.size() || *end != '\n')
        return std::nullopt;
    return SessionStore::Found{
        std::string(text.substr(static_cast<std::size_t>(end + 1 - text.data()))), expires};
}

std::string text_of(const std::string& data, UnixSeconds expires) {
    return std::to_string(expires) + "\n" + data;
}

// In the name of a file that is being written, and renamed to the session's when it is whole;
// hexadecimal digits follow. A key has no dot.
constexpr std::string_view unfinished_mark = ".new";
// Writing one takes milliseconds: what is older was left by a crash.
constexpr std::chrono::hours unfinished_max{1};

bool is_unfinished(std::string_view name) {
    const std::size_t at = name.find(unfinished_mark);
    if (at == std::string_view::npos) return false;
    const std::string_view rest = name.substr(at + unfinished_mark.size());
    return !rest.empty() && rest.find_first_not_of(hex_digits) == std::string_view::npos;
}

// An unfinished file has expired when it is old, whatever of its text was written.
UnixSeconds unfinished_expiry(fs::file_time_type written) {
    const bool is_old = written < fs::file_time_type::clock::now() - unfinished_max;
    return is_old ? 0 : std::numeric_limits<UnixSeconds>::max();
}

// Written beside it and put in its place: a crash leaves the old one, and perhaps what is beside.
void write_session(const std::string& path, const std::string& text) {
    task::NewFile file(path + std::string(unfinished_mark) + random_name(8));
    file.open();
    file.write(text);
    file.finish_as(path, task::NewFile::Kept::by_kernel);
}

// nullopt: there is no such file.
std::optional<std::uint64_t> size_of(const std::string& path) {
    std::error_code failed;
    const std::uint64_t bytes = fs::file_size(path, failed);
    if (!failed) return bytes;
    if (failed == std::errc::no_such_file_or_directory) return std::nullopt;
    throw fs::filesystem_error("examine a session", path, failed);
}

void remove_session(const std::string& path) {
    std::error_code failed;
    fs::remove(path, failed);
    if (failed) throw fs::filesystem_error("remove a session", path, failed);
}

}  // namespace

// The folder's contents: counted at the first write, and again when it is full.
class FileSessions::Folder {
  public:
    Folder(std::string path, FileSessionsOptions options)
        : path_(std::move(path)), options_(options) {}

    std::optional<Found> load(const std::string& key, UnixSeconds now);
    void save(const std::string& key, const std::string& data, UnixSeconds expires);
    Replaced replace(const std::string& key, const std::string& before, const std::string& data,
                     UnixSeconds expires);
    bool prolong(const std::string& key, UnixSeconds expires);
    std::optional<std::string> take(const std::string& key);
    void sweep(UnixSeconds now);

  private:
    struct File {
        UnixSeconds expires;
        std::uint64_t bytes;
        std::string path;
        bool is_unfinished;
    };

    std::string path_of(const std::string& key) const { return path_ + "/" + key; }
    std::vector<File> files() const;
    void count();
    void write(const std::string& key, const std::string& text, std::optional<std::uint64_t> known);
    void make_room(const std::string& key, std::size_t added, std::uint64_t bytes);
    bool remove(const std::string& path);
    bool is_due(UnixSeconds now);

    const std::string path_;
    const FileSessionsOptions options_;
    std::mutex lock_;  // guards all below, and is held while the folder changes
    bool counted_ = false;
    std::size_t count_ = 0;
    std::uint64_t bytes_ = 0;
    UnixSeconds next_sweep_ = 0;
};

std::vector<FileSessions::Folder::File> FileSessions::Folder::files() const {
    std::vector<File> all;
    for (const fs::directory_entry& entry : fs::directory_iterator(path_)) {
        // Another loop, or another process, may remove the file meanwhile.
        std::error_code gone;
        if (!entry.is_regular_file(gone)) continue;
        const std::uint64_t bytes = entry.file_size(gone);
        if (gone) continue;
        const fs::file_time_type written = entry.last_write_time(gone);
        if (gone) continue;
        std::string path = entry.path().string();
        if (is_unfinished(entry.path().filename().string())) {
            all.push_back({unfinished_expiry(written), bytes, std::move(path), true});
        } else if (const auto session = read_session(path)) {
            all.push_back({session->expires, bytes, std::move(path), false});
        }
    }
    return all;
}

void FileSessions::Folder::count() {
    counted_ = true;
    count_ = 0;
    bytes_ = 0;
    for (const File& file : files()) {
        ++count_;
        bytes_ += file.bytes;
    }
}

// For so many files and bytes more. Down to fifteen sixteenths of the limits, so that a full folder
// is not read for each new session.
void FileSessions::Folder::make_room(const std::string& key, std::size_t added,
                                     std::uint64_t bytes) {
    // Here and not in the constructor, because this runs on the pool.
    if (!counted_) count();
    if (count_ + added <= options_.sessions_max && bytes_ + bytes <= options_.bytes_max) return;
    // Counted anew: another process with the same folder may have changed it.
    std::vector<File> all = files();
    // The sessions that end soonest go first: expired ones, left-overs of a crash, then the least
    // used.
    std::ranges::sort(all, {}, &File::expires);
    count_ = all.size();
    bytes_ = 0;
    for (const File& file : all) bytes_ += file.bytes;
    const std::size_t count_kept =
        options_.sessions_max - std::max<std::size_t>(options_.sessions_max / 16, 1);
    const std::uint64_t bytes_kept = options_.bytes_max - options_.bytes_max / 16;
    for (const File& file : all) {
        if (count_ <= count_kept && bytes_ + bytes <= bytes_kept) return;
        // The one that grows is replaced anyway.
        if (fs::path(file.path).filename() == key) continue;
        remove_session(file.path);
        --count_;
        bytes_ -= file.bytes;
    }
}

// False: there is no such file.
bool FileSessions::Folder::remove(const std::string& path) {
    const auto bytes = size_of(path);
    if (!bytes) return false;
    remove_session(path);
    if (counted_) {
        --count_;
        bytes_ -= *bytes;
    }
    return true;
}

bool FileSessions::Folder::is_due(UnixSeconds now) {
    const std::lock_guard held(lock_);
    if (now < next_sweep_) return false;
    const auto pause = std::chrono::duration_cast<std::chrono::seconds>(options_.sweep_every);
    // Claimed before the sweep, so that one of several loads does it.
    next_sweep_ = now + pause.count();
    return true;
}

std::optional<SessionStore::Found> FileSessions::Folder::load(const std::string& key,
                                                              UnixSeconds now) {
    if (is_due(now)) {
        try {
            sweep(now);
        } catch (const fs::filesystem_error&) {
            // This session may still be readable. The next sweep tries again.
        }
    }
    const std::string path = path_of(key);
    auto session = read_session(path);
    // Without its folder (a volume that is not mounted) no session is there, and none has ended.
    if (!session && !fs::exists(path_)) throw_error("open the sessions", path_, ENOENT);
    if (!session || session->expires > now) return session;
    const std::lock_guard held(lock_);
    // Read again, because a save may have replaced it before we had the lock.
    session = read_session(path);
    if (!session || session->expires > now) return session;
    remove(path);
    return std::nullopt;
}

void FileSessions::Folder::save(const std::string& key, const std::string& data,
                                UnixSeconds expires) {
    const std::lock_guard held(lock_);
    write(key, text_of(data, expires), size_of(path_of(key)));
}

// One step for the loops of this process. Another process with the same folder may change or remove
// the file between the look and the writing.
SessionStore::Replaced FileSessions::Folder::replace(const std::string& key,
                                                     const std::string& before,
                                                     const std::string& data, UnixSeconds expires) {
    const std::lock_guard held(lock_);
    const auto found = read_session(path_of(key));
    if (!found) return Replaced::gone;
    if (found->text != before) return Replaced::changed;
    write(key, text_of(data, expires), size_of(path_of(key)));
    return Replaced::done;
}

bool FileSessions::Folder::prolong(const std::string& key, UnixSeconds expires) {
    const std::lock_guard held(lock_);
    const auto found = read_session(path_of(key));
    if (found) write(key, text_of(found->text, expires), size_of(path_of(key)));
    return found.has_value();
}

// `known`: the bytes of the file that it replaces.
void FileSessions::Folder::write(const std::string& key, const std::string& text,
                                 std::optional<std::uint64_t> known) {
    const std::uint64_t before = known.value_or(0);
    const std::size_t added = known ? 0 : 1;
    if (text.size() > before) make_room(key, added, text.size() - before);
    write_session(path_of(key), text);
    if (!counted_) return;
    count_ += added;
    // Unsigned, and meant to wrap where the session became shorter.
    bytes_ += text.size() - before;
}

std::optional<std::string> FileSessions::Folder::take(const std::string& key) {
    const std::lock_guard held(lock_);
    const std::string path = path_of(key);
    auto found = read_session(path);
    if (!found || !remove(path)) return std::nullopt;
    return std::move(found->text);
}

// The lock is held for one file at a time, because a large folder takes long to read.
void FileSessions::Folder::sweep(UnixSeconds now) {
    for (const File& file : files()) {
        if (file.expires > now) continue;
        const std::lock_guard held(lock_);
        // Read again, because a save may have replaced it meanwhile.
        const auto session = file.is_unfinished ? std::nullopt : read_session(file.path);
        if (file.is_unfinished || (session && session->expires <= now)) remove(file.path);
    }
}

FileSessions::FileSessions(std::string folder, FileSessionsOptions options)
    : folder_(std::make_shared<Folder>(std::move(folder), options)) {
    TR_CHECK(options.sessions_max > 0 && options.bytes_max > data_bytes_max * 2,
             "a folder of sessions has room for one");
}
FileSessions::~FileSessions() = default;

task::Task<std::optional<SessionStore::Found>> FileSessions::load(std::string key,
                                                                  UnixSeconds now) {
    unique_function<std::optional<Found>()> work = [folder = folder_, key = std::move(key), now] {
        return folder->load(key, now);
    };
    auto found = co_await task::offload(std::move(work));
    co_return found;
}

task::Task<> FileSessions::save(std::string key, std::string data, UnixSeconds expires) {
    unique_function<void()> work = [folder = folder_, key = std::move(key), data = std::move(data),
                                    expires] { folder->save(key, data, expires); };
    co_await task::offload(std::move(work));
}

task::Task<SessionStore::Replaced> FileSessions::replace(std::string key, std::string before,
                                                         std::string data, UnixSeconds expires) {
    unique_function<Replaced()> work =
        [folder = folder_, key = std::move(key), before = std::move(before), data = std::move(data),
         expires] { return folder->replace(key, before, data, expires); };
    const Replaced done = co_await task::offload(std::move(work));
    co_return done;
}

task::Task<bool> FileSessions::prolong(std::string key, UnixSeconds expires) {
    unique_function<bool()> work = [folder = folder_, key = std::move(key), expires] {
        return folder->prolong(key, expires);
    };
    const bool done = co_await task::offload(std::move(work));
    co_return done;
}

task::Task<std::optional<std::string>> FileSessions::take(std::string key) {
    unique_function<std::optional<std::string>()> work = [folder = folder_, key = std::move(key)] {
        return folder->take(key);
    };
    auto taken = co_await task::offload(std::move(work));
    co_return taken;
}

void FileSessions::sweep(UnixSeconds now) const {
    folder_->sweep(now);
}

}  // namespace tiderace::http
