// Uploads: files on their way into a folder.
//
//   create -> waiting -> Writer -> [add …] -> finish -> waiting, or all of it came: a file
//                \-> remove, or expired
//
// FOLDER/.unfinished/ID has the bytes and ID.json their length and name, so that an upload goes on
// after the server was started again. A file gets its name only when all of it is there, and
// never replaces another.
//
// The newest Writer counts: a client that lost its connection need not wait until the server has
// noticed that. An older Writer fails at its next piece.
//
// Owner    The program; all loops share one.
// Thread   Any. Every function but limits() waits for the disk: call it by offload().
// Errors   A Problem for the client: 404, 409, 413, 423, 429 (too many of this client), 460 (the
//          digest differs), 507 (no room).
//          What the disk fails with is an exception: 500.
// Limits   UploadLimits; of a file, and of all together. What an upload announced is reserved while
//          bytes come. One client's uploads announce at most half of the room that the files leave,
//          but for a single one. Where all places for unfinished uploads are taken, an idle one
//          is given up for the newcomer: first one without a byte, then one of the client that has
//          the most, then the longest idle.
#pragma once

#include <tiderace/app.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "examples/files/checksum.h"

struct UploadLimits {
    std::uint64_t file_bytes_max = std::uint64_t{10} << 30;
    std::uint64_t all_bytes_max = std::uint64_t{50} << 30;  // with what was announced
    std::uint64_t disk_bytes_free_min = std::uint64_t{1} << 30;
    std::size_t unfinished_max = 100;
    std::size_t unfinished_each_max = 20;                                           // of one client
    tiderace::http::filter::RateLimitOptions rate{.per_minute = 120, .burst = 60};  // of new ones
    std::size_t files_max = 10'000;
    std::size_t finished_max = 1'000;  // remembered, for clients that missed the last answer
    // After the last byte: its room on the disk is free for others until it goes on.
    tiderace::UnixSeconds idle = 60;
    tiderace::UnixSeconds expiry = 24 * 60 * 60;  // after the last byte
    tiderace::UnixSeconds form_expiry = 5 * 60;   // the same, for plain forms
};

// The progress of an upload.
struct UploadState {
    std::string id;
    std::string name;  // the file's, once it is complete
    std::uint64_t length = 0;
    std::uint64_t offset = 0;
    tiderace::UnixSeconds expires = 0;
};

struct StoredFile {
    std::string name;
    std::uint64_t bytes = 0;
    tiderace::UnixSeconds changed = 0;
};

class Uploads {
  public:
    using Seconds = tiderace::UnixSeconds;
    // The hash of a piece; nothing: the piece is not checked.
    using Digest = std::optional<Checksum>;
    using Log = std::function<void(const std::string& line)>;
    class Writer;
    enum class Length : std::uint8_t { exact, at_most };

    // Throws a std::filesystem::filesystem_error where the folder cannot be used.
    // `log` is called with a line for each upload that is given up.
    Uploads(std::filesystem::path folder, UploadLimits limits, Seconds now, Log log = {});
    ~Uploads();

    const UploadLimits& limits() const { return limits_; }
    const std::filesystem::path& folder() const { return folder_; }

    // `at_most`: of a plain form, which cannot continue after a fault.
    // `client`: the peer's address, or whatever stands for one; "": it has no share of its own.
    UploadState create(std::string_view name, std::uint64_t length, Length kind,
                       std::string_view client, Seconds now);
    UploadState find(std::string_view id);
    void remove(std::string_view id);
    // Goes on at `offset`. With a digest, either all that the Writer gets counts or nothing.
    std::shared_ptr<Writer> write(std::string_view id, std::uint64_t offset, const Digest& digest,
                                  Seconds now);
    // Removes uploads that have expired.
    void sweep(Seconds now);

    // For new files: of what all may hold, and of the disk.
    std::uint64_t room(Seconds now);
    std::vector<StoredFile> files() const;  // the newest first
    void remove_file(std::string_view name);

  private:
    struct Part;
    struct Record;  // ID.json

    std::filesystem::path part_path(std::string_view id) const;
    std::filesystem::path record_path(std::string_view id) const;
    void load(Seconds now);
    void remove_leftovers(Seconds now) const;
    void keep(const Part& part) const;
    UploadState state_of(const Part& part) const;
    std::shared_ptr<Part> part(std::string_view id);
    struct UnderWay;  // the unfinished ones, counted
    UnderWay count_under_way(std::string_view client, Seconds now);
    std::uint64_t room_beside(const UnderWay& others) const;
    bool is_within_share(const UnderWay& all, std::uint64_t come, std::uint64_t wanted,
                         std::string_view client) const;
    bool is_idle(const Part& part, Seconds now) const;
    void reserve_again(const std::shared_ptr<Part>& part, std::size_t bytes, Seconds now);
    void give_up_one(Seconds now);
    void check_rate(std::string_view client, Seconds now);
    void check_room(std::uint64_t wanted, std::string_view client, Seconds now);
    void forget_oldest_finished();
    Seconds expiry_of(const Part& part) const;
    void complete(Part& part, int descriptor);
    void erase(Part& part) const;
    void count_files();

    const std::filesystem::path folder_;
    const std::filesystem::path unfinished_;
    const UploadLimits limits_;
    const Log log_;
    tiderace::http::filter::RateTable rate_;
    std::mutex mutex_;    // of all below; taken before a Part's own
    Seconds latest_ = 0;  // that a call handed in: the system's clock may be set back
    std::map<std::string, std::shared_ptr<Part>, std::less<>> parts_;
    std::atomic<std::uint64_t> file_bytes_ = 0;
    std::atomic<std::size_t> file_count_ = 0;
};

// Owner    A request; it may end at any time, and what it wrote without a digest stays.
// Thread   One at a time.
class Uploads::Writer {
  public:
    Writer(Uploads& uploads, std::shared_ptr<Part> part, int descriptor, const Digest& digest);
    ~Writer();
    Writer(const Writer&) = delete;
    Writer& operator=(const Writer&) = delete;

    void add(std::string_view bytes, Seconds now);
    UploadState finish();

  private:
    Uploads* uploads_;
    std::shared_ptr<Part> part_;
    int descriptor_;
    std::uint64_t number_;
    std::uint64_t at_;
    std::optional<ChecksumHash> hash_;  // with a digest
};
