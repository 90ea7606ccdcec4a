#include "lab/opponent/served_folder.h"

#include <gtest/gtest.h>

#include "tiderace/http/wire/status.h"
#include "tiderace/testing/temporary_folder.h"

namespace tiderace::lab::opponent {
namespace {

TEST(ServedFolder, SaysWhatAPathStandsFor) {
    tiderace::testing::TemporaryFolder folder;
    folder.write("secret.txt", "outside");
    folder.write("root/index.html", "<p>");
    folder.write("root/a b.css", "body");
    folder.write("root/sub/index.html", "<p>sub");
    folder.write("root/.hidden", "x");
    folder.make_folder("root/empty folder");
    folder.make_fifo("root/fifo");
    folder.link("root/out", "../secret.txt");
    const auto served = ServedFolder::open(folder.path_of("root"));
    ASSERT_TRUE(served);
    const struct {
        const char* path;
        int status;
        std::uint64_t bytes = 0;
        const char* type = "";
        const char* location = "";
    } cases[] = {
        {"/", 200, 3, "text/html; charset=utf-8"},
        {"/index.html?query", 200, 3, "text/html; charset=utf-8"},
        {"/a%20b.css", 200, 4, "text/css; charset=utf-8"},
        {"/sub", 301, 0, "", "/sub/"},
        {"//sub", 301, 0, "", "/sub/"},
        {"/empty%20folder", 301, 0, "", "/empty%20folder/"},
        {"/sub/", 200, 6, "text/html; charset=utf-8"},
        {"/empty%20folder/", 404},
        {"/index.html/", 404},
        {"/none", 404},
        {"/.hidden", 404},
        {"/fifo", 403},
        {"/out", 404},
        {"/../secret.txt", 400},
        {"/%2e%2e/secret.txt", 400},
        {"/..%2fsecret.txt", 400},
        {"/a%00b", 400},
        {"", 400},
    };
    for (const auto& one : cases) {
        const ServedFile found = served->find(one.path);
        EXPECT_EQ(found.status, one.status) << one.path;
        EXPECT_EQ(found.bytes, one.bytes) << one.path;
        EXPECT_EQ(found.type, one.type) << one.path;
        EXPECT_EQ(found.location, one.location) << one.path;
        EXPECT_EQ(static_cast<bool>(found.file), one.status == 200) << one.path;
        EXPECT_FALSE(http::wire::reason_phrase(found.status).empty());
    }
}

TEST(ServedFolder, AFolderThatIsNotThereIsNamed) {
    const auto served = ServedFolder::open("/tiderace/no/such");
    ASSERT_FALSE(served);
    EXPECT_NE(served.error().message().find("/tiderace/no/such"), std::string::npos);
}

}  // namespace
}  // namespace tiderace::lab::opponent
