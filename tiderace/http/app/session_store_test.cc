#include "tiderace/http/app/session_store.h"

#include <gtest/gtest.h>

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <optional>
#include <stdexcept>
#include <string>
#include <thread>

#include "tiderace/task/run.h"
#include "tiderace/testing/temporary_folder.h"

namespace tiderace::http {
namespace {

// The same of every store.
task::Task<std::string> use_store(SessionStore& store) {
    std::string log;
    const auto add = [&](const std::optional<SessionStore::Found>& found) {
        log += (found ? found->text : "none") + ",";
    };
    add(co_await store.load("abc", 10));
    co_await store.save("abc", "one", 20);
    add(co_await store.load("abc", 19));
    co_await store.save("abc", "two\n", 30);
    add(co_await store.load("abc", 29));
    add(co_await store.load("abcd", 29));
    add(co_await store.load("abc", 30));
    add(co_await store.load("abc", 1));
    co_await store.save("abc", "", 40);
    add(co_await store.load("abc", 1));
    using Replaced = SessionStore::Replaced;
    Replaced done = co_await store.replace("abc", "", "three", 50);
    EXPECT_EQ(done, Replaced::done);
    done = co_await store.replace("abc", "", "four", 60);
    EXPECT_EQ(done, Replaced::changed) << "another request has written";
    add(co_await store.load("abc", 49));
    bool there = co_await store.prolong("abc", 60);
    EXPECT_TRUE(there);
    add(co_await store.load("abc", 59));
    std::optional<std::string> taken = co_await store.take("abc");
    EXPECT_EQ(taken, "three");
    taken = co_await store.take("abc");
    EXPECT_EQ(taken, std::nullopt);
    done = co_await store.replace("abc", "three", "back", 50);
    EXPECT_EQ(done, Replaced::gone) << "what ended does not come back";
    there = co_await store.prolong("abc", 50);
    EXPECT_FALSE(there);
    add(co_await store.load("abc", 1));
    co_return log;
}
constexpr std::string_view used = "none,one,two\n,none,none,none,,three,three,none,";

TEST(SessionStore, ReadsAValueInTheTextOfASession) {
    using Value = std::optional<std::string>;
    constexpr std::string_view text = "csrf=a%26b&user=ann+%26+bob&empty=&user=eve";
    EXPECT_EQ(SessionStore::value_in(text, "csrf"), Value("a&b"));
    EXPECT_EQ(SessionStore::value_in(text, "user"), Value("ann & bob"));
    EXPECT_EQ(SessionStore::value_in(text, "empty"), Value(""));
    EXPECT_EQ(SessionStore::value_in(text, "use"), std::nullopt);
    EXPECT_EQ(SessionStore::value_in("", "user"), std::nullopt);
}

TEST(SessionStore, MemoryKeepsAndExpires) {
    MemorySessions store;
    EXPECT_EQ(task::run(use_store(store)), used);
    EXPECT_EQ(store.size(), 0u);
}

TEST(SessionStore, FilesKeepAndExpire) {
    const testing::TemporaryFolder folder;
    FileSessions store(folder.path());
    EXPECT_EQ(task::run(use_store(store)), used);
    EXPECT_TRUE(std::filesystem::is_empty(folder.path()));
    task::run(store.save("old", "x", 10));
    task::run(store.save("new", "y", 20));
    std::ofstream(folder.path() + "/foreign") << "no session";
    EXPECT_FALSE(task::run(store.load("foreign", 1)));
    store.sweep(10);
    EXPECT_FALSE(std::filesystem::exists(folder.path() + "/old"));
    EXPECT_TRUE(std::filesystem::exists(folder.path() + "/new"));
    EXPECT_TRUE(std::filesystem::exists(folder.path() + "/foreign"));
    FileSessions again(folder.path());
    EXPECT_EQ(task::run(again.load("new", 1)).value().text, "y");
    EXPECT_EQ(task::run(again.load("new", 1)).value().expires, 20);
    FileSessions nowhere(folder.path() + "/missing");
    EXPECT_ANY_THROW(task::run(nowhere.save("a", "b", 1)));
}

TEST(SessionStore, AFullFolderDropsWhatExpiresFirst) {
    const testing::TemporaryFolder folder;
    const auto has = [&](const std::string& key) {
        return std::filesystem::exists(folder.path() + "/" + key);
    };
    FileSessions store(folder.path(), {.sessions_max = 3});
    task::run(store.save("a", "1", 300));
    task::run(store.save("b", "2", 100));
    task::run(store.save("c", "3", 200));
    task::run(store.save("b", "again", 100));
    EXPECT_TRUE(has("b")) << "an existing one fits";
    task::run(store.save("d", "4", 400));
    EXPECT_FALSE(has("b"));
    EXPECT_TRUE(has("a") && has("c") && has("d"));
    FileSessions again(folder.path(), {.sessions_max = 3});
    task::run(again.save("e", "5", 500));
    EXPECT_FALSE(has("c")) << "what was there before counts";
    task::run(again.take("a"));
    task::run(again.save("f", "6", 600));
    EXPECT_TRUE(has("d") && has("e") && has("f"));
}

TEST(SessionStore, AFolderHasABoundInBytes) {
    const testing::TemporaryFolder folder;
    FileSessions store(folder.path(), {.bytes_max = 40'000});
    const std::string text(12'000, 'x');
    for (int i = 0; i < 10; ++i) task::run(store.save("s" + std::to_string(i), text, 100 + i));
    std::uint64_t bytes = 0;
    for (const auto& entry : std::filesystem::directory_iterator(folder.path())) {
        bytes += entry.file_size();
    }
    EXPECT_LE(bytes, 40'000u);
    EXPECT_GT(bytes, 36'000u) << "no more is evicted than has to be";
    EXPECT_TRUE(std::filesystem::exists(folder.path() + "/s9"));
    EXPECT_FALSE(std::filesystem::exists(folder.path() + "/s0"));
}

TEST(SessionStore, ReadingSweepsTheFolderNowAndThen) {
    const testing::TemporaryFolder folder;
    FileSessions store(folder.path(), {.sweep_every = 100s});
    task::run(store.save("kept", "x", 10'000));
    EXPECT_TRUE(task::run(store.load("kept", 1'000)));
    task::run(store.save("old", "x", 1'010));
    EXPECT_TRUE(task::run(store.load("kept", 1'099)));
    EXPECT_TRUE(std::filesystem::exists(folder.path() + "/old"));
    EXPECT_TRUE(task::run(store.load("kept", 1'100)));
    EXPECT_FALSE(std::filesystem::exists(folder.path() + "/old"));
}

// The remains of a session whose writing a crash cut have no line with its expiry.
TEST(SessionStore, UnfinishedFilesAreSweptWhenTheyAreOld) {
    const testing::TemporaryFolder folder;
    const auto leave = [&](const std::string& name, const std::string& text,
                           std::chrono::hours ago) {
        const std::string path = folder.path() + "/" + name;
        std::ofstream(path) << text;
        std::filesystem::last_write_time(path, std::filesystem::file_time_type::clock::now() - ago);
    };
    leave("abc.new123", "", 2h);
    leave("abc.new124", "99", 2h);
    leave("abc.new125", "9999999999\nhalf", 2h);
    leave("abc.new126", "", 0h);
    leave("abc.newer", "", 2h);
    const FileSessions store(folder.path());
    store.sweep(10);
    const auto has = [&](const std::string& name) {
        return std::filesystem::exists(folder.path() + "/" + name);
    };
    EXPECT_FALSE(has("abc.new123"));
    EXPECT_FALSE(has("abc.new124"));
    EXPECT_FALSE(has("abc.new125"));
    EXPECT_TRUE(has("abc.new126")) << "it may still be written";
    EXPECT_TRUE(has("abc.newer")) << "no file of ours";
}

TEST(SessionStore, UnfinishedFilesTakeRoom) {
    const testing::TemporaryFolder folder;
    for (int i = 0; i < 3; ++i) {
        const std::string path = folder.path() + "/a.new" + std::to_string(i);
        std::ofstream(path) << std::string(10'000, '1');
        std::filesystem::last_write_time(path, std::filesystem::file_time_type::clock::now() - 2h);
    }
    FileSessions store(folder.path(), {.bytes_max = 40'000});
    task::run(store.save("a", std::string(15'000, 'x'), 100));
    std::uint64_t bytes = 0;
    for (const auto& entry : std::filesystem::directory_iterator(folder.path())) {
        bytes += entry.file_size();
    }
    EXPECT_LE(bytes, 40'000u);
    EXPECT_TRUE(std::filesystem::exists(folder.path() + "/a"));
}

TEST(SessionStore, AStoreHasRoomForOneAtLeast) {
    MemorySessions one(1);
    EXPECT_EQ(task::run(use_store(one)), used);
    task::run(one.save("a", "1", 10));
    task::run(one.save("b", "2", 10));
    EXPECT_EQ(one.size(), 1u);
    EXPECT_DEATH(MemorySessions(0), "a store of sessions has room for one");
}

TEST(SessionStore, AFileThatCannotBeReadIsNoMissingSession) {
    const testing::TemporaryFolder folder;
    FileSessions store(folder.path());
    EXPECT_FALSE(task::run(store.load("none", 1)));
    // ELOOP when it is opened, and EISDIR when it is read: root gets these, too.
    std::filesystem::create_symlink("loop", folder.path() + "/loop");
    std::filesystem::create_directory(folder.path() + "/folder");
    for (const std::string key : {"loop", "folder"}) {
        EXPECT_THROW(task::run(store.load(key, 1)), std::runtime_error) << key;
        EXPECT_THROW(task::run(store.take(key)), std::runtime_error) << key;
    }
    FileSessions unmounted(folder.path() + "/missing");
    EXPECT_THROW(task::run(unmounted.load("a", 1)), std::runtime_error);
}

TEST(SessionStore, ASessionThatGrowsMakesRoomForItself) {
    const testing::TemporaryFolder folder;
    FileSessions store(folder.path() + "/", {.bytes_max = 40'000});
    const auto bytes = [&] {
        std::uint64_t all = 0;
        for (const auto& entry : std::filesystem::directory_iterator(folder.path())) {
            all += entry.file_size();
        }
        return all;
    };
    for (int i = 0; i < 10; ++i) task::run(store.save("s" + std::to_string(i), "x", 100 + i));
    const std::string text(12'000, 'x');
    for (int i = 0; i < 10; ++i) {
        task::run(store.save("s" + std::to_string(i), text, 100 + i));
        EXPECT_LE(bytes(), 40'000u) << i;
        EXPECT_TRUE(task::run(store.load("s" + std::to_string(i), 1))) << i;
    }
    // The one that expires first is not evicted for its own growth.
    task::run(store.save("first", "x", 50));
    task::run(store.save("first", text, 50));
    EXPECT_EQ(task::run(store.load("first", 1)).value().text, text);
    EXPECT_LE(bytes(), 40'000u);
}

// A load that found it expired must not remove what a save has put there since.
TEST(SessionStore, AnExpiredSessionThatIsSavedMeanwhileStays) {
    const testing::TemporaryFolder folder;
    FileSessions store(folder.path());
    for (int i = 0; i < 300; ++i) {
        task::run(store.save("a", "old", 10));
        std::jthread loader([&] { task::run(store.load("a", 10)); });
        task::run(store.save("a", "new", 20));
        loader.join();
        ASSERT_TRUE(task::run(store.load("a", 10))) << i;
    }
}

}  // namespace
}  // namespace tiderace::http
