#include "tiderace/http/cgi/known_scripts.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <string>

#include "tiderace/testing/temporary_folder.h"

namespace tiderace::http::cgi {
namespace {

class KnownScriptsTest : public ::testing::Test {
  protected:
    bool has(ByteView path, Duration later = {}) {
        return known_.has(beneath_, path, now_ + later);
    }

    testing::TemporaryFolder folder_;
    ProgramFolder beneath_ = std::move(*ProgramFolder::open(core::system_kernel(), folder_.path()));
    KnownScripts known_;
    Instant now_ = Instant{} + 100s;
};

TEST_F(KnownScriptsTest, ANewScriptIsThereAtOnce) {
    EXPECT_FALSE(has("/a.php"));
    folder_.write("a.php", "<?php");
    EXPECT_TRUE(has("/a.php"));
    EXPECT_EQ(known_.size(), 1u);
}

TEST_F(KnownScriptsTest, ARemovedOneIsForgottenAfterASecond) {
    folder_.write("a.php", "<?php");
    EXPECT_TRUE(has("/a.php"));
    ::unlink(folder_.path_of("a.php").c_str());
    EXPECT_TRUE(has("/a.php", KnownScripts::remembered - 1ms));
    EXPECT_FALSE(has("/a.php", KnownScripts::remembered));
    EXPECT_EQ(known_.size(), 0u);
}

TEST_F(KnownScriptsTest, OneThatStaysIsLookedAtOnceASecond) {
    folder_.write("a.php", "<?php");
    EXPECT_TRUE(has("/a.php"));
    EXPECT_TRUE(has("/a.php", 1s));
    ::unlink(folder_.path_of("a.php").c_str());
    EXPECT_TRUE(has("/a.php", 1999ms));
    EXPECT_FALSE(has("/a.php", 2s));
}

TEST_F(KnownScriptsTest, OnlyFilesBeneathTheFolderCount) {
    folder_.make_folder("sub");
    folder_.link("out.php", "/etc/passwd");
    for (const ByteView path : {"/sub", "/out.php", "/../x", "/.hidden", "/"}) {
        EXPECT_FALSE(has(path)) << path;
    }
    EXPECT_EQ(known_.size(), 0u);
}

TEST_F(KnownScriptsTest, TheirNumberIsBounded) {
    for (std::size_t i = 0; i <= KnownScripts::names_max; ++i) {
        const std::string name = std::to_string(i) + ".php";
        folder_.write(name, "");
        EXPECT_TRUE(has("/" + name));
        EXPECT_LE(known_.size(), KnownScripts::names_max);
    }
    EXPECT_EQ(known_.size(), 1u);
}

}  // namespace
}  // namespace tiderace::http::cgi
