// Internal. CachedFile: one regular file as it was at one moment, with the text that every answer
// about it needs.
//
// Either its bytes are in memory, or its descriptor is open and answers send ranges of it. It never
// changes after it was made: a file that changed on disk gets a new CachedFile, and answers that
// are still sending the old one keep it.
//
// Owner    The file cache, and each answer that is being sent.
// Thread   One loop's.
// Memory   In memory: the file's bytes. Else a descriptor. Some 220 bytes besides.
// Limits   file_budget.h, for all of a loop together.
// Keywords: Last-Modified, ETag, stat
#pragma once

#include <sys/stat.h>

#include <array>
#include <compare>
#include <cstdint>
#include <memory>
#include <string>

#include "tiderace/base/bytes.h"
#include "tiderace/base/units.h"
#include "tiderace/core/kernel.h"
#include "tiderace/core/send_queue.h"
#include "tiderace/http/files/file_budget.h"
#include "tiderace/http/wire/entity_tag.h"

namespace tiderace::http::files {

// Bytes in memory are copied behind the head of their answer up to this size; more are sent from
// where they are.
inline constexpr std::size_t small_copy_bytes_default = 16_KiB;

// Distinguishes one state of a file from another. Programs cannot set the time of change (ctime)
// back.
struct FileIdentity {
    std::uint64_t device = 0;
    std::uint64_t inode = 0;
    std::uint64_t bytes = 0;
    // Seconds apart from their parts: a time of modification may be any, and 2262 is the end of
    // nanoseconds in 64 bits.
    UnixSeconds modified = 0;
    std::int64_t modified_ns = 0;
    UnixSeconds changed = 0;
    std::int64_t changed_ns = 0;

    explicit FileIdentity(const struct stat& status);
    FileIdentity() = default;
    auto operator<=>(const FileIdentity&) const = default;
};

class CachedFile final : public core::SharedFile {
  public:
    // `place` is what it takes of its loop's room.
    CachedFile(const FileIdentity& identity, core::Descriptor descriptor,
               FileBudget::Place place = {});
    CachedFile(const FileIdentity& identity, std::unique_ptr<char[]> bytes,
               FileBudget::Place place = {});
    // The content of `source` in another coding, which its entity tag shows. Other loops may hold
    // the same bytes.
    CachedFile(const CachedFile& source, std::shared_ptr<const std::string> coded,
               ByteView tag_suffix, FileBudget::Place place = {});

    const FileIdentity& identity() const { return identity_; }
    std::uint64_t size() const { return identity_.bytes; }
    bool in_memory() const { return data_ != nullptr; }
    // All of it; only when in memory.
    ByteView bytes() const { return {data_, static_cast<std::size_t>(identity_.bytes)}; }
    int descriptor() const override { return descriptor_.get(); }

    // A strong validator in its quotes.
    ByteView etag() const { return etag_.view(); }
    ByteView last_modified() const { return {last_modified_.data(), last_modified_.size()}; }

    // Until then the system is taken to have all of it cached (disk_reads.h). Nothing of the file
    // itself, so it may change.
    Instant resident_until{};

    // Appends a range of it, which must lie inside, without a copy. It lives until that was sent.
    void append_to(core::SendQueue& queue, std::uint64_t offset, std::uint64_t bytes);

  private:
    CachedFile(const FileIdentity& identity, FileBudget::Place place);

    FileBudget::Place place_;
    FileIdentity identity_;
    core::Descriptor descriptor_;
    const char* data_ = nullptr;
    std::unique_ptr<char[]> bytes_;
    std::shared_ptr<const std::string> coded_;
    wire::EntityTagText etag_;
    std::array<char, 29> last_modified_;
};

}  // namespace tiderace::http::files
