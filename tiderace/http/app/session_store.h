// SessionStore: where sessions are kept. MemorySessions: this process. FileSessions: a folder.
//
// A session is a short text under a key, which is a hash of the id that the client has: reading the
// store is not enough to take over a session.
//
// Owner    A shared_ptr of the App's; one for all loops.
// Thread   Any loop's, several at once. The tasks run on the loop that awaits them.
// Errors   What a task throws is answered 500: a request is never served as if it had no session
//          because the store is broken. FileSessions: everything but an absent file.
// Limits   MemorySessions: sessions_max, the one that was used the longest ago goes first.
//          FileSessions: FileSessionsOptions; the one that expires first goes first. Expired
//          sessions are swept away every hour while sessions are read, and so are unfinished files
//          that a crash left.
// Keywords: session, expiry
#pragma once

#include <any>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "tiderace/base/units.h"
#include "tiderace/task/task.h"

namespace tiderace::http {

class SessionStore {
  public:
    static constexpr std::size_t data_bytes_max = 16 * 1024;

    virtual ~SessionStore() = default;
    struct Found {
        std::string text;
        UnixSeconds expires = 0;
        // A value that one statement can read along with the session, such as its user: for
        // Session::attached(). Empty: nothing.
        std::any attached = {};
    };
    // `key`: letters and digits. nullopt: there is none, or it expired before `now`.
    virtual task::Task<std::optional<Found>> load(std::string key, UnixSeconds now) = 0;
    // Makes it, or replaces all of it.
    virtual task::Task<> save(std::string key, std::string data, UnixSeconds expires) = 0;
    enum class Replaced : std::uint8_t {
        done,
        changed,  // by another request: nothing is written
        gone,     // nothing is made: what one request has ended does not come back by another's
    };
    // Replaces all of it where it still is `before`; the look and the writing are one step.
    virtual task::Task<Replaced> replace(std::string key, std::string before, std::string data,
                                         UnixSeconds expires) = 0;
    // Only the end changes, whatever the text is by then. False: there is none.
    virtual task::Task<bool> prolong(std::string key, UnixSeconds expires) = 0;
    // Removes it, and returns the text that it had, in one step. nullopt: there is none.
    virtual task::Task<std::optional<std::string>> take(std::string key) = 0;

    // A value that the text of a session holds, for a store that has a column of it. nullopt: there
    // is none of that name.
    static std::optional<std::string> value_in(std::string_view text, std::string_view name);
};

class MemorySessions final : public SessionStore {
  public:
    explicit MemorySessions(std::size_t sessions_max = 100'000);  // at least 1
    ~MemorySessions() override;

    task::Task<std::optional<Found>> load(std::string key, UnixSeconds now) override;
    task::Task<> save(std::string key, std::string data, UnixSeconds expires) override;
    task::Task<Replaced> replace(std::string key, std::string before, std::string data,
                                 UnixSeconds expires) override;
    task::Task<bool> prolong(std::string key, UnixSeconds expires) override;
    task::Task<std::optional<std::string>> take(std::string key) override;
    std::size_t size() const;

  private:
    class Table;

    std::unique_ptr<Table> table_;
};

struct FileSessionsOptions {
    std::size_t sessions_max = 100'000;
    std::uint64_t bytes_max = 256_MiB;  // of all files; at least one file's
    Duration sweep_every = 1h;
};

// One file a session, replaced as a whole. Reading and writing is done on the pool's threads.
class FileSessions final : public SessionStore {
  public:
    // `folder` exists and is this program's alone.
    explicit FileSessions(std::string folder, FileSessionsOptions options = {});
    ~FileSessions() override;

    task::Task<std::optional<Found>> load(std::string key, UnixSeconds now) override;
    task::Task<> save(std::string key, std::string data, UnixSeconds expires) override;
    task::Task<Replaced> replace(std::string key, std::string before, std::string data,
                                 UnixSeconds expires) override;
    task::Task<bool> prolong(std::string key, UnixSeconds expires) override;
    task::Task<std::optional<std::string>> take(std::string key) override;
    // Removes files that expired before `now`. Blocks: for the program's start, or offload().
    void sweep(UnixSeconds now) const;

  private:
    class Folder;

    std::shared_ptr<Folder> folder_;  // the work on the pool's threads keeps it
};

}  // namespace tiderace::http
