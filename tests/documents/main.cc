#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <string_view>

#include "tests/documents/program.h"
#include "tiderace/db/redis/server_fixture.h"

namespace documents {

// A program that is added to a document needs a test here. Known only when all tests have run.
class AllRan : public testing::Environment {
    void TearDown() override {
        if (GTEST_FLAG_GET(filter) != "*") return;
        const auto ran = started();
        const bool has_redis = tiderace::db::redis::RedisServer::missing().empty();
        for (const std::string& name : names()) {
            if (name.starts_with("redis/") && !has_redis) continue;  // its tests were skipped
            EXPECT_TRUE(std::ranges::count(ran, name) > 0) << name << ": no test runs it";
        }
    }
};

}  // namespace documents

int main(int argc, char** argv) {
    if (argc > 2 && std::string_view(argv[1]) == "--program") {
        std::setvbuf(stdout, nullptr, _IOLBF, 0);
        return documents::call_main(argv[2], argc - 2, argv + 2);
    }
    testing::InitGoogleTest(&argc, argv);
    testing::AddGlobalTestEnvironment(new documents::AllRan);  // GoogleTest owns it
    return RUN_ALL_TESTS();
}
