// Internal. VariantStore: the compressed files of all loops, so that each file is compressed once
// and its bytes are in memory once.
//
//   claim(key) -> made       the bytes, or that they are not worth it
//              -> yours      not made yet: make them, then put() or give_up()
//              -> busy       another thread makes them: try again later
//
// Only compressing threads use it, so no request takes the lock.
//
// Owner    The program; outlives the loops' handlers.
// Thread   Any.
// Limits   bytes_max of bytes and of what is known, least recently claimed out first. An answer
//          that still sends a dropped one keeps it.
#pragma once

#include <cstdint>
#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <string>

#include "tiderace/http/files/cached_file.h"
#include "tiderace/http/files/variant_files.h"
#include "tiderace/http/wire/accept.h"

namespace tiderace::http::files {

class VariantStore {
  public:
    using Bytes = std::shared_ptr<const std::string>;

    enum class Claim : std::uint8_t { made, yours, busy };
    struct Claimed {
        Claim claim = Claim::busy;
        Bytes bytes;  // with `made`; nullptr: they would not be smaller
    };
    struct Counters {
        std::uint64_t made = 0;      // compressed here
        std::uint64_t declined = 0;  // tried, and not smaller
        std::uint64_t read = 0;      // found on the disk
        std::uint64_t shared = 0;    // another loop had made it
        std::uint64_t evicted = 0;
    };

    explicit VariantStore(std::size_t bytes_max, std::shared_ptr<VariantFiles> files = nullptr)
        : bytes_max_(bytes_max), files_(std::move(files)) {}

    Claimed claim(const VariantKey& key);
    // Ends a claim of `yours`: the bytes, or nullptr if they would not be smaller.
    void put(const VariantKey& key, Bytes bytes, bool from_disk);
    // Ends a claim of `yours` without a result.
    void give_up(const VariantKey& key);

    // Drops all finished variants, to free memory; work in progress continues.
    void drop_all();

    // The files that are kept over a restart; nullptr: none.
    std::shared_ptr<VariantFiles> files() const;
    // For variants that are made from now on.
    void set_files(std::shared_ptr<VariantFiles> files);

    Counters counters() const;
    std::size_t bytes() const;

  private:
    struct Entry {
        VariantKey key;
        Bytes bytes;
    };
    static std::size_t cost_of(const Entry& entry);
    void evict();

    const std::size_t bytes_max_;
    mutable std::mutex lock_;  // guards all below
    std::shared_ptr<VariantFiles> files_;
    std::list<Entry> entries_;  // least recently claimed first
    // end(): being made.
    std::map<VariantKey, std::list<Entry>::iterator> known_;
    std::size_t bytes_ = 0;
    Counters counters_;
};

}  // namespace tiderace::http::files
