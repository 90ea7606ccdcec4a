// Memory of SQLite that is not counted.
#include "tiderace/db/sqlite/memory.h"

#include <gtest/gtest.h>
#include <sqlite3.h>
#include <unistd.h>

#include <cstdint>
#include <string>

#include "tiderace/db.h"
#include "tiderace/db/task_fixture.h"
#include "tiderace/task/frame_pool.h"

namespace tiderace::db::sqlite {
namespace {

// In a process of its own, because SQLite takes the setting only before it is used.
[[noreturn]] void use_memory_that_is_not_counted() {
    const bool done = leave_sqlite_memory_uncounted();
    std::int64_t counted = -1;
    bool is_whole = false;
    task::run([](std::int64_t& bytes, bool& whole) -> Task<> {
        Database db = db::open("sqlite::memory:");
        co_await db.exec("create table t (n, text)");
        // Texts of every size, which grow in place or move, and rows to sort.
        for (int n = 1; n <= 300; ++n) {
            co_await db.exec("insert into t values (?, ?)", n, std::string(97U * n, 'x'));
        }
        const auto joined = co_await db.one<std::int64_t>(
            "select length(group_concat(text, '')) from (select text from t order by -n)");
        const auto wrong = co_await db.one<int>(
            "select count(*) from t where text <> printf('%.*c', 97 * n, 'x')");
        whole = joined == 97 * 300 * 301 / 2 && wrong == 0;
        bytes = sqlite3_memory_used();
    }(counted, is_whole));
    // A block of the pool, less its header.
    void* const block = sqlite3_malloc(100);
    const bool is_pooled = sqlite3_msize(block) == 2 * task::FramePool::class_bytes - 8;
    sqlite3_free(block);
    // Not exit(): what a sanitizer does at the end of a program has no part in this.
    _exit(done && is_whole && is_pooled && counted == 0 && !leave_sqlite_memory_uncounted() ? 0
                                                                                            : 1);
}

TEST(SqliteMemory, IsNotCountedWhereTheProgramWantsNoCount) {
    // This style starts the test again in the new process, so nothing comes before it.
    GTEST_FLAG_SET(death_test_style, "threadsafe");
    EXPECT_EXIT(use_memory_that_is_not_counted(), ::testing::ExitedWithCode(0), "");
}

TEST(SqliteMemory, IsCountedOtherwise) {
    task::run([]() -> Task<> {
        Database db = db::open("sqlite::memory:");
        co_await db.exec("create table t (n)");
        EXPECT_GT(sqlite3_memory_used(), 0);
        EXPECT_FALSE(leave_sqlite_memory_uncounted()) << "too late";
    }());
}

}  // namespace
}  // namespace tiderace::db::sqlite
