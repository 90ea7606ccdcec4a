#include "tiderace/http/files/cached_file.h"

#include <gtest/gtest.h>

#include <cstring>

namespace tiderace::http::files {
namespace {

struct stat status_of(std::uint64_t inode, std::int64_t seconds, long nanoseconds, off_t bytes) {
    struct stat status{};
    status.st_ino = inode;
    status.st_size = bytes;
    status.st_mtim = {seconds, nanoseconds};
    status.st_ctim = {seconds, nanoseconds};
    return status;
}

core::Ref<CachedFile> in_memory(const FileIdentity& identity) {
    return core::make_ref<CachedFile>(identity, std::make_unique<char[]>(identity.bytes + 1));
}

TEST(CachedFile, AnyDifferenceIsAnotherIdentityAndAnotherTag) {
    const FileIdentity base(status_of(7, 1000, 5, 10));
    EXPECT_EQ(base, FileIdentity(status_of(7, 1000, 5, 10)));
    const std::string tag(in_memory(base)->etag());
    for (const struct stat& other : {status_of(8, 1000, 5, 10), status_of(7, 1001, 5, 10),
                                     status_of(7, 1000, 6, 10), status_of(7, 1000, 5, 11)}) {
        EXPECT_NE(base, FileIdentity(other));
        EXPECT_NE(tag, in_memory(FileIdentity(other))->etag());
    }
}

// rsync -t --inplace, an archive whose files all have one time.
TEST(CachedFile, AFileThatWasGivenItsOldTimeBackHasAnotherTag) {
    struct stat status = status_of(7, 1000, 5, 10);
    const std::string tag(in_memory(FileIdentity(status))->etag());
    status.st_ctim = {1001, 5};
    EXPECT_NE(tag, in_memory(FileIdentity(status))->etag());
}

TEST(CachedFile, AnyTimeIsKept) {
    EXPECT_EQ(FileIdentity(status_of(1, -1, 500'000'000, 0)).modified, -1);
    EXPECT_EQ(FileIdentity(status_of(1, 1, 999'999'999, 0)).modified, 1);
    // 1969, 1970, 2038, 2106, 2262 (nanoseconds in 64 bits end), 2300, 10000, the last.
    for (const std::int64_t whole :
         {std::int64_t{-1}, std::int64_t{0}, std::int64_t{2'147'483'648},
          std::int64_t{4'294'967'296}, std::int64_t{9'223'372'037}, std::int64_t{10'413'792'000},
          std::int64_t{253'402'300'800}, INT64_MAX, INT64_MIN}) {
        const FileIdentity identity(status_of(1, whole, 999'999'999, 0));
        EXPECT_EQ(identity.modified, whole);
        EXPECT_FALSE(in_memory(identity)->etag().empty());
    }
}

TEST(CachedFile, AQueuedRangeKeepsTheBytes) {
    auto bytes = std::make_unique<char[]>(10);
    std::memcpy(bytes.get(), "0123456789", 10);
    auto file = core::make_ref<CachedFile>(FileIdentity(status_of(1, 1, 1, 10)), std::move(bytes));
    core::SendQueue queue;
    file->append_to(queue, 3, 4);
    file = {};
    iovec piece{};
    ASSERT_EQ(queue.gather({&piece, 1}), 1U);
    EXPECT_EQ(ByteView(static_cast<char*>(piece.iov_base), piece.iov_len), "3456");
}

TEST(CachedFileDeathTest, ARangeBeyondTheFileIsOurFault) {
    const auto file = in_memory(FileIdentity(status_of(1, 1, 1, 10)));
    core::SendQueue queue;
    EXPECT_DEATH(file->append_to(queue, 5, 6), "beyond the file");
    EXPECT_DEATH(file->append_to(queue, 11, UINT64_MAX), "beyond the file");
}

}  // namespace
}  // namespace tiderace::http::files
