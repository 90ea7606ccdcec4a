// This program links what a user of tiderace::db_redis links: no library of the other databases.
#include <gtest/gtest.h>

#include <fstream>
#include <iterator>
#include <string>

namespace tiderace::db::redis {
namespace {

TEST(Libraries, RedisNeedsNoneOfTheOtherDatabases) {
    std::ifstream file("/proc/self/maps");
    const std::string mapped((std::istreambuf_iterator<char>(file)), {});
    if (mapped.empty()) GTEST_SKIP() << "this system does not list what a program has mapped";
    for (const char* const library : {"libpq", "libmariadb", "libsqlite3"}) {
        EXPECT_EQ(mapped.find(library), mapped.npos) << library;
    }
}

}  // namespace
}  // namespace tiderace::db::redis
