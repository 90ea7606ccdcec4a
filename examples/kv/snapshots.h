// Snapshots: all keys in one file, written by a child process while the server goes on.
//
//   begin(7): fork -> child: snapshot-7.part, synced -> poll(): renamed to snapshot-7, older
//                                                       snapshots and logs are removed
//
// The child sees the keys as they were at the fork; the system copies the pages that change
// meanwhile. A snapshot is a series of commands with a last line that counts them, so that one
// reader serves it and the log.
//
// Errors   A failed snapshot leaves everything as it was, and one line on standard error.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>

#include "examples/kv/keyspace.h"
#include "tiderace/base/result.h"

namespace kv {

using tiderace::Result;

// "FOLDER/snapshot-7".
std::string snapshot_path(const std::string& folder, std::uint64_t number);
// The name of the record behind the last key; its argument is the number of records.
inline constexpr std::string_view snapshot_end = "SNAPSHOT-END";

class Snapshots {
  public:
    explicit Snapshots(std::string folder) : folder_(std::move(folder)) {}
    // A child that still writes is ended.
    ~Snapshots();
    Snapshots(const Snapshots&) = delete;
    Snapshots& operator=(const Snapshots&) = delete;

    void set_generation(std::uint64_t generation) { generation_ = generation; }
    std::uint64_t generation() const { return generation_; }
    bool running() const { return child_ > 0; }
    // The size of the last one; 0: none.
    std::uint64_t bytes() const { return bytes_; }
    std::int64_t last_save() const { return last_save_; }
    bool last_succeeded() const { return last_succeeded_; }

    Result<> begin(Keyspace& keys, std::uint64_t number);
    // Ten times a second.
    void poll();
    // Here and now.
    Result<> save(Keyspace& keys, std::uint64_t number);

  private:
    Result<> keep(std::uint64_t number);

    std::string folder_;
    std::uint64_t generation_ = 0;
    std::uint64_t number_ = 0;  // of the one that is being made
    std::uint64_t bytes_ = 0;
    std::int64_t last_save_ = 0;
    pid_t child_ = 0;
    bool last_succeeded_ = true;
};

}  // namespace kv
