#include "tiderace/http/files/cached_file.h"

#include <utility>

#include "tiderace/base/check.h"
#include "tiderace/http/wire/http_date.h"

namespace tiderace::http::files {
namespace {

// It only distinguishes one state from another, and may wrap around.
std::int64_t ticks(UnixSeconds seconds, std::int64_t nanoseconds) {
    constexpr std::uint64_t second_ns = 1'000'000'000;
    return static_cast<std::int64_t>(static_cast<std::uint64_t>(seconds) * second_ns +
                                     static_cast<std::uint64_t>(nanoseconds));
}

}  // namespace

#if defined(__APPLE__)
#define st_mtim st_mtimespec
#define st_ctim st_ctimespec
#endif

FileIdentity::FileIdentity(const struct stat& status)
    : device(status.st_dev),
      inode(status.st_ino),
      bytes(static_cast<std::uint64_t>(status.st_size)),
      modified(status.st_mtim.tv_sec),
      modified_ns(status.st_mtim.tv_nsec),
      changed(status.st_ctim.tv_sec),
      changed_ns(status.st_ctim.tv_nsec) {}

CachedFile::CachedFile(const FileIdentity& identity, FileBudget::Place place)
    : place_(std::move(place)),
      identity_(identity),
      // The tag is made of the time of change (ctime), which no program can set: rsync and tar
      // restore the time of modification, so that a changed file could keep it.
      etag_(wire::format_entity_tag(ticks(identity.changed, identity.changed_ns), identity.bytes,
                                    identity.inode)),
      last_modified_(wire::format_http_date(identity.modified)) {}

CachedFile::CachedFile(const FileIdentity& identity, core::Descriptor descriptor,
                       FileBudget::Place place)
    : CachedFile(identity, std::move(place)) {
    TR_CHECK(descriptor);
    descriptor_ = std::move(descriptor);
}

CachedFile::CachedFile(const FileIdentity& identity, std::unique_ptr<char[]> bytes,
                       FileBudget::Place place)
    : CachedFile(identity, std::move(place)) {
    TR_CHECK(bytes != nullptr);
    bytes_ = std::move(bytes);
    data_ = bytes_.get();
}

// A compressed variant: another tag, because the bytes differ (RFC 9110, 8.8.3.3).
CachedFile::CachedFile(const CachedFile& source, std::shared_ptr<const std::string> coded,
                       ByteView tag_suffix, FileBudget::Place place)
    : place_(std::move(place)), identity_(source.identity_), last_modified_(source.last_modified_) {
    TR_CHECK(coded != nullptr);
    identity_.bytes = coded->size();
    etag_ = wire::append_to_tag(source.etag(), tag_suffix);
    coded_ = std::move(coded);
    data_ = coded_->data();
}

void CachedFile::append_to(core::SendQueue& queue, std::uint64_t offset, std::uint64_t bytes) {
    // Ranges were checked against this size; a file that shrank since is another CachedFile.
    TR_CHECK(offset <= size() && bytes <= size() - offset, "a range beyond the file");
    const core::Ref<CachedFile> self(this);
    // The queue holds a reference, so the bytes or the descriptor outlive the cache's entry.
    if (in_memory()) {
        queue.append_shared(
            this->bytes().substr(static_cast<std::size_t>(offset), static_cast<std::size_t>(bytes)),
            self);
    } else {
        queue.append_file(self, offset, bytes);
    }
}

}  // namespace tiderace::http::files
