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
    const UnixSeconds changed = FileIdentity(status).changed;
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

TEST_F(PathResolverTest, AFileIsCompressedFromTheLeastToTheMostBytesThatAreWorthIt) {
    PathRules rules;
    rules.compress.codings = {.gzip = true, .zstd = false, .br = false};
    rules.compress.bytes_min = 100;
    rules.compress.bytes_max = 200;
    for (const std::size_t bytes : {99, 100, 200, 201}) {
        folder_.write("a.txt", std::string(bytes, 'a'));
        const auto resolved = resolver(rules).resolve("/a.txt", nullptr, much_later);
        EXPECT_EQ(resolved->makes.any(), bytes >= 100 && bytes <= 200) << bytes;
        EXPECT_EQ(resolved->varies, resolved->makes.any()) << bytes;
    }
}

TEST_F(PathResolverTest, WhatWasMadeOfAFileStaysWithItAndWhatLayBesideItDoesNot) {
    folder_.write("a.txt", std::string(2'000, 'a'));
    PathRules rules;
    rules.compress.codings = {.gzip = true, .zstd = true, .br = true};
    const auto first = resolver(rules).resolve("/a.txt", nullptr, much_later);
    first->siblings[0] = first->file;
    first->declined = 4;
    const auto second = resolver(rules).resolve("/a.txt", first.get(), much_later);
    EXPECT_EQ(second->siblings[0].get(), first->file.get());
    EXPECT_EQ(second->declined, 4);
    folder_.write("a.txt.gz", "g");
    const auto beside = resolver(rules).resolve("/a.txt", second.get(), much_later);
    EXPECT_TRUE(beside->has_siblings);
    EXPECT_FALSE(beside->makes.any());
    EXPECT_EQ(beside->declined, 0);
    folder_.remove("a.txt.gz");
    const auto alone = resolver(rules).resolve("/a.txt", beside.get(), much_later);
    EXPECT_EQ(alone->file.get(), first->file.get());
    EXPECT_FALSE(alone->has_siblings);
    EXPECT_FALSE(alone->sibling(wire::ContentCoding::gzip)) << "it is gone";
    folder_.replace("a.txt", std::string(2'000, 'b'));
    const auto other = resolver(rules).resolve("/a.txt", second.get(), much_later);
    EXPECT_FALSE(other->siblings[0]);
    EXPECT_EQ(other->declined, 0);
}

TEST_F(PathResolverTest, AFolderStandsForTheFirstOfItsIndexesThatIsAFile) {
    folder_.make_folder("docs/index.html");
    folder_.write("docs/second.html", "2");
    folder_.write("docs/third.html", "3");
    PathRules rules;
    rules.index = {"absent.html", "index.html", "second.html", "third.html"};
    const auto alias = resolver(rules).resolve("/docs/", nullptr, much_later);
    EXPECT_EQ(alias->stands_for, StandsFor::alias);
    EXPECT_EQ(alias->target, "/docs/second.html");
    EXPECT_EQ(resolver(rules).resolve("/docs", nullptr, much_later)->stands_for,
              StandsFor::redirect);
    rules.index = {"absent.html", "index.html"};
    EXPECT_EQ(resolver(rules).resolve("/docs/", nullptr, much_later)->stands_for,
              StandsFor::directory);
    // Behind open and status of the folder: its index. A listing would take its place.
    kernel_.fail_at(3, EMFILE);
    const auto failed = resolver(rules).resolve("/docs/", nullptr, much_later);
    EXPECT_EQ(failed->stands_for, StandsFor::failed);
    EXPECT_EQ(failed->error, EMFILE);
    EXPECT_FALSE(failed->stable);
}

TEST_F(PathResolverTest, APageMayBeNamedWithoutItsSuffix) {
    folder_.write("about.html", "about");
    folder_.make_folder("folder.html");
    folder_.write("page.html", "page");
    PathRules rules;
    EXPECT_EQ(resolver(rules).resolve("/about", nullptr, much_later)->stands_for,
              StandsFor::missing);
    rules.clean_urls = true;
    const auto alias = resolver(rules).resolve("/about", nullptr, much_later);
    EXPECT_EQ(alias->stands_for, StandsFor::alias);
    EXPECT_EQ(alias->target, "/about.html");
    EXPECT_EQ(resolver(rules).resolve("/folder", nullptr, much_later)->stands_for,
              StandsFor::missing);
    kernel_.reset();
    EXPECT_EQ(resolver(rules).resolve("/about/", nullptr, much_later)->stands_for,
              StandsFor::missing);
    EXPECT_EQ(kernel_.calls(), 1U) << "a folder's name is no page's";
    kernel_.fail_at(2, EIO);
    const auto failed = resolver(rules).resolve("/page", nullptr, much_later);
    EXPECT_EQ(failed->stands_for, StandsFor::failed);
    EXPECT_EQ(failed->error, EIO);
    EXPECT_FALSE(failed->stable);
}

TEST_F(PathResolverTest, APageComesBeforeTheFolderOfItsName) {
    folder_.write("join.html", "join");
    folder_.write("join/team.html", "team");
    folder_.write("plain/index.html", "index");
    PathRules rules;
    EXPECT_EQ(resolver(rules).resolve("/join", nullptr, much_later)->stands_for,
              StandsFor::redirect);
    rules.clean_urls = true;
    const auto page = resolver(rules).resolve("/join", nullptr, much_later);
    EXPECT_EQ(page->stands_for, StandsFor::alias);
    EXPECT_EQ(page->target, "/join.html");
    EXPECT_EQ(resolver(rules).resolve("/join/", nullptr, much_later)->stands_for,
              StandsFor::directory);
    EXPECT_EQ(resolver(rules).resolve("/plain", nullptr, much_later)->stands_for,
              StandsFor::redirect);
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
