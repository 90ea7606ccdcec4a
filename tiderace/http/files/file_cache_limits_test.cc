// The cache by itself: what expires, what is checked, and what it holds at most.
#include <fcntl.h>

#include <memory>
#include <string>
#include <utility>

#include "tiderace/http/files/file_cache.h"
#include "tiderace/testing/static_site.h"

namespace tiderace::http::files {
namespace {

class BareCache : public testing::StaticSite {
  protected:
    core::Descriptor root_{kernel_, ::open(folder_.path().c_str(), O_RDONLY | O_DIRECTORY)};
};

TEST_F(BareCache, AVariantOfUpToHalfOfTheRoomIsKept) {
    folder_.write("a.txt", std::string(5000, 'a'));
    PathRules rules;
    rules.compress.codings = {.gzip = true, .zstd = false, .br = false};
    FileCacheLimits limits;
    limits.bytes_max = 20'000;
    for (const std::size_t bytes : {10'000, 10'001}) {
        FileCache cache(
            PathResolver(FileLoader(kernel_, root_.get()), rules, limits.sendfile_bytes_min),
            limits);
        const auto known = cache.find("/a.txt", loop_->now(), loop_->unix_now());
        const std::size_t before = cache.bytes();
        cache.add_variant("/a.txt", known->file->identity(), wire::ContentCoding::gzip,
                          core::make_ref<CachedFile>(
                              *known->file, std::make_shared<const std::string>(bytes, 'z'), "-x"),
                          loop_->unix_now());
        EXPECT_EQ(static_cast<bool>(known->sibling(wire::ContentCoding::gzip)), bytes == 10'000);
        EXPECT_EQ(cache.bytes() >= before + bytes, bytes == 10'000);
    }
}

TEST_F(BareCache, AVariantIsTakenForTheFileThatItWasMadeOfAndPushesOthersOut) {
    for (const char* name : {"a.txt", "b.txt"}) folder_.write(name, std::string(5000, 'a'));
    FileCacheLimits limits;
    limits.bytes_max = 20'500;
    for (const bool makes : {true, false}) {
        PathRules rules;
        rules.compress.codings = {.gzip = makes, .zstd = false, .br = false};
        FileCache cache(PathResolver(FileLoader(kernel_, root_.get()), rules, 65'536), limits);
        const auto add = [&](const char* path, const FileIdentity& of) {
            const auto known = cache.find("/a.txt", loop_->now(), loop_->unix_now());
            auto bytes = std::make_shared<const std::string>(10'000, 'z');
            cache.add_variant(path, of, wire::ContentCoding::gzip,
                              core::make_ref<CachedFile>(*known->file, std::move(bytes), "-x"),
                              loop_->unix_now());
            return static_cast<bool>(known->sibling(wire::ContentCoding::gzip));
        };
        const auto a = cache.find("/a.txt", loop_->now(), loop_->unix_now());
        const auto b = cache.find("/b.txt", loop_->now(), loop_->unix_now());
        FileIdentity other = a->file->identity();
        ++other.changed_ns;
        EXPECT_FALSE(add("/a.txt", other));
        EXPECT_FALSE(add("/none.txt", a->file->identity()));
        EXPECT_EQ(cache.counters().evicted, 0U);
        EXPECT_EQ(add("/a.txt", a->file->identity()), makes);
        EXPECT_EQ(cache.paths(), makes ? 1U : 2U) << "/b.txt was used before it";
        EXPECT_LE(cache.bytes(), limits.bytes_max);
    }
}

TEST_F(BareCache, ASmallerShareHoldsAtOnce) {
    for (const char* name : {"a", "b", "c"}) folder_.write(name, std::string(5'000, 'a'));
    for (const char* name : {"d", "e"}) folder_.write(name, std::string(70'000, 'a'));
    FileCache cache(PathResolver(FileLoader(kernel_, root_.get()), {}, 65'536), {});
    const auto find_all = [&] {
        for (const char* path : {"/a", "/b", "/c", "/d", "/e"}) {
            cache.find(path, loop_->now(), loop_->unix_now());
        }
    };
    find_all();
    EXPECT_EQ(cache.descriptors(), 2u);
    EXPECT_GT(cache.bytes(), 15'000u);
    cache.set_share(12'000, 1);
    EXPECT_EQ(cache.descriptors(), 1u);
    EXPECT_LE(cache.bytes(), 12'000u);
    find_all();
    EXPECT_LE(cache.bytes(), 12'000u);
    cache.set_share(64_MiB, 256);
    find_all();
    EXPECT_EQ(cache.descriptors(), 2u);
}

TEST_F(BareCache, DropsAllAndCountsIt) {
    folder_.write("a.txt", "a");
    folder_.write("big.bin", std::string(100'000, 'b'));
    const FileCacheLimits limits;
    FileCache cache(PathResolver(FileLoader(kernel_, root_.get()), {}, limits.sendfile_bytes_min),
                    limits);
    for (const char* path : {"/a.txt", "/big.bin", "/absent"}) {
        cache.find(path, loop_->now(), loop_->unix_now());
    }
    EXPECT_EQ(cache.paths(), 3U);
    cache.drop_all();
    EXPECT_EQ(cache.paths(), 0U);
    EXPECT_EQ(cache.bytes(), 0U);
    EXPECT_EQ(cache.descriptors(), 0U);
    EXPECT_EQ(cache.counters().evicted, 3U);
    kernel_.reset();
    cache.find("/absent", loop_->now(), loop_->unix_now());
    EXPECT_GT(kernel_.calls(), 0U) << "though it was the last path";
    EXPECT_EQ(cache.paths(), 1U);
}

// An open file may change at any moment; two requests of one turn may as well have come before.
TEST_F(BareCache, AnOpenFileIsLookedAtOnceInATurn) {
    folder_.write("big.bin", std::string(200'000, 'x'));
    folder_.write("small.txt", "small");
    FileCacheLimits limits;
    limits.revalidate = 24h;
    limits.memory_file_bytes_max = 1'000;
    FileCache cache(PathResolver(FileLoader(kernel_, root_.get()), {}, 1'000), limits);
    const auto looks = [&](const char* path) {
        kernel_.reset();
        cache.find(path, loop_->now(), loop_->unix_now());
        return kernel_.calls();
    };
    looks("/big.bin");
    looks("/small.txt");
    for (int turn = 0; turn < 3; ++turn) {
        pass(10ms);
        EXPECT_EQ(looks("/big.bin"), 1U);
        EXPECT_EQ(looks("/big.bin"), 0U);
        EXPECT_EQ(looks("/small.txt"), 0U) << "what is in memory cannot change";
    }
}

TEST_F(BareCache, ExpiresWhatLiesBeneathAFolderItselfAndNothingBeside) {
    for (const char* name : {"a/one.txt", "a/b/two.txt", "ab.txt", "a.txt"}) {
        folder_.write(name, "text");
    }
    FileCacheLimits limits;
    limits.revalidate = 24h;
    FileCache cache(PathResolver(FileLoader(kernel_, root_.get()), {}, limits.sendfile_bytes_min),
                    limits);
    const auto asked = [&](const char* path) {
        kernel_.reset();
        cache.find(path, loop_->now(), loop_->unix_now());
        return kernel_.calls() > 0;
    };
    const char* const paths[] = {"/a/one.txt", "/a/b/two.txt", "/a", "/a/none.txt",
                                 "/ab.txt",    "/a.txt",       "/"};
    for (const char* path : paths) EXPECT_TRUE(asked(path)) << path;
    for (const char* path : paths) EXPECT_FALSE(asked(path)) << path;
    cache.expire_beneath("/a/");
    for (const char* path : paths) {
        EXPECT_EQ(asked(path), path == std::string("/a") || ByteView(path).starts_with("/a/"))
            << path;
    }
    cache.expire("/a.txt");
    EXPECT_TRUE(asked("/a.txt"));
    EXPECT_FALSE(asked("/ab.txt"));
    cache.expire_missing();
    EXPECT_TRUE(asked("/a/none.txt"));
    EXPECT_FALSE(asked("/a/one.txt"));
    cache.expire_all();
    for (const char* path : paths) EXPECT_TRUE(asked(path)) << path;
}

}  // namespace
}  // namespace tiderace::http::files
