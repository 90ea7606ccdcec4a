#include "tiderace/http/files/path_resolver.h"

#include <fcntl.h>
#include <gtest/gtest.h>

#include "tiderace/testing/fault_kernel.h"
#include "tiderace/testing/temporary_folder.h"

namespace tiderace::http::files {
namespace {

constexpr UnixSeconds much_later = 2'500'000'000;

class PathResolverTest : public ::testing::Test {
  protected:
    PathResolver resolver(PathRules rules = {}, std::uint64_t sendfile_bytes_min = 1024) {
        return PathResolver(FileLoader(kernel_, root_.get()), std::move(rules), sendfile_bytes_min);
    }

    testing::TemporaryFolder folder_;
    testing::FaultKernel kernel_;
    core::Descriptor root_{kernel_, ::open(folder_.path().c_str(), O_RDONLY | O_DIRECTORY)};
};

TEST_F(PathResolverTest, WhatDidNotChangeIsTakenFromBefore) {
    folder_.write("a.txt", "a");
    folder_.write("a.txt.gz", "g");
    const auto first = resolver().resolve("/a.txt", nullptr, much_later);
    const auto second = resolver().resolve("/a.txt", first.get(), much_later);
    EXPECT_EQ(first->file.get(), second->file.get());
    EXPECT_EQ(first->sibling(wire::ContentCoding::gzip).get(),
              second->sibling(wire::ContentCoding::gzip).get());
    folder_.replace("a.txt.gz", "G");
    const auto third = resolver().resolve("/a.txt", second.get(), much_later);
    EXPECT_EQ(first->file.get(), third->file.get());
    EXPECT_NE(first->sibling(wire::ContentCoding::gzip).get(),
              third->sibling(wire::ContentCoding::gzip).get());
}

TEST_F(PathResolverTest, WhatChangedJustNowIsNotTrusted) {
    folder_.write("a.txt", "a");
    const UnixSeconds now = ::time(nullptr);
    const auto first = resolver().resolve("/a.txt", nullptr, now);
    EXPECT_FALSE(first->settled);
    const auto second = resolver().resolve("/a.txt", first.get(), now + 10);
    EXPECT_NE(first->file.get(), second->file.get());
    EXPECT_TRUE(second->settled);
    const auto third = resolver().resolve("/a.txt", second.get(), now + 20);
    EXPECT_EQ(second->file.get(), third->file.get());
}

TEST_F(PathResolverTest, ASiblingThatChangedJustNowIsNotTrusted) {
    folder_.write("a.txt", "a");
    folder_.write("a.txt.gz", "g");
    const UnixSeconds now = ::time(nullptr);
    const auto first = resolver().resolve("/a.txt", nullptr, now);
    const auto second = resolver().resolve("/a.txt", first.get(), now + 10);
    EXPECT_NE(first->sibling(wire::ContentCoding::gzip).get(),
              second->sibling(wire::ContentCoding::gzip).get());
    const auto third = resolver().resolve("/a.txt", second.get(), now + 20);
    EXPECT_EQ(second->sibling(wire::ContentCoding::gzip).get(),
              third->sibling(wire::ContentCoding::gzip).get());
}

TEST_F(PathResolverTest, AChangeIsSettledWhenTwoWholeSecondsHavePassed) {
    folder_.write("a.txt", "a");
    struct stat status{};
    ASSERT_EQ(::stat(folder_.path_of("a.txt").c_str(), &status), 0);
    const UnixSeconds changed = FileIdentity(status).changed_ns / 1'000'000'000;
    EXPECT_FALSE(resolver().resolve("/a.txt", nullptr, changed + 2)->settled);
    EXPECT_TRUE(resolver().resolve("/a.txt", nullptr, changed + 3)->settled);
}

TEST_F(PathResolverTest, AFileThatChangesWhileItIsReadIsNotKeptWhateverItsSiblingsAre) {
    folder_.write("a.txt", "first state");
    folder_.write("a.txt.gz", "g");
    kernel_.before(3, [&] { folder_.truncate("a.txt", 4); });  // after open and status: the read
    const auto resolved = resolver().resolve("/a.txt", nullptr, much_later);
    EXPECT_TRUE(resolved->has_siblings);
    EXPECT_FALSE(resolved->stable);
    kernel_.reset();
    EXPECT_TRUE(resolver().resolve("/a.txt", nullptr, much_later)->stable);
}

TEST_F(PathResolverTest, OnlySmallFilesGoIntoMemoryAtOnce) {
    folder_.write("small", std::string(1023, 'x'));
    folder_.write("large", std::string(1024, 'x'));
    EXPECT_TRUE(resolver().resolve("/small", nullptr, much_later)->file->in_memory());
    EXPECT_FALSE(resolver().resolve("/large", nullptr, much_later)->file->in_memory());
}

TEST_F(PathResolverTest, WhatAFileIsCompressedInGoesByItsPath) {
    folder_.write("a.txt", std::string(2'000, 'a'));
    folder_.write("b.txt", std::string(2'000, 'b'));
    PathRules rules;
    rules.compress.codings = {.gzip = true, .zstd = true, .br = true};
    rules.compress.codings_of = [](ByteView path) -> wire::AvailableCodings {
        return path == "/a.txt" ? wire::AvailableCodings{.br = true} : wire::AvailableCodings{};
    };
    const auto some = resolver(rules).resolve("/a.txt", nullptr, much_later);
    EXPECT_TRUE(some->varies && some->makes.br);
    EXPECT_FALSE(some->makes.gzip || some->makes.zstd);
    const auto none = resolver(rules).resolve("/b.txt", nullptr, much_later);
    EXPECT_FALSE(none->varies || none->makes.any());
    rules.compress.codings_of = {};
    EXPECT_TRUE(resolver(rules).resolve("/b.txt", nullptr, much_later)->makes.gzip);
}

TEST_F(PathResolverTest, HiddenNamesCostNoCall) {
    folder_.write(".secret", "x");
    kernel_.reset();
    EXPECT_EQ(resolver().resolve("/.secret", nullptr, much_later)->stands_for, StandsFor::missing);
    EXPECT_EQ(kernel_.calls(), 0U);
}

TEST_F(PathResolverTest, ASiblingThatCannotBeOpenedLeavesTheFile) {
    folder_.write("a.txt", "a");
    folder_.write("a.txt.gz", "g");
    kernel_.fail_at(5, EMFILE);  // after open, status, read, status: the sibling's open
    const auto resolved = resolver().resolve("/a.txt", nullptr, much_later);
    EXPECT_EQ(resolved->stands_for, StandsFor::file);
    EXPECT_FALSE(resolved->stable);
}

TEST_F(PathResolverTest, ASiblingThatCannotBeReadLeavesTheFileAndIsAskedForAgain) {
    folder_.write("a.txt", "a");
    folder_.write("a.txt.gz", "g");
    auto room = core::make_ref<FileBudget>(FileBudgetLimits{.bytes_max = 1, .open_max = 0});
    const PathResolver bounded(FileLoader(kernel_, root_.get(), core::Links::inside, room.get()),
                               {}, 1'000);
    const auto resolved = bounded.resolve("/a.txt", nullptr, much_later);
    EXPECT_EQ(resolved->stands_for, StandsFor::file);
    EXPECT_FALSE(resolved->sibling(wire::ContentCoding::gzip));
    EXPECT_FALSE(resolved->has_siblings);
    EXPECT_FALSE(resolved->stable) << "there may be room the next time";
}

}  // namespace
}  // namespace tiderace::http::files
