#include "tiderace/http/cgi/program_folder.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cerrno>
#include <utility>

#include "tiderace/testing/fail_nth.h"
#include "tiderace/testing/temporary_folder.h"

namespace tiderace::http::cgi {
namespace {

using Found = ProgramFolder::Found;

class ProgramFolderTest : public ::testing::Test {
  protected:
    void program(std::string_view name, std::string_view bytes = "#!/bin/sh\n") {
        folder_.write(name, bytes);
        ::chmod(folder_.path_of(name).c_str(), 0755);
    }
    ProgramFolder open() {
        return std::move(*ProgramFolder::open(core::system_kernel(), folder_.path()));
    }
    testing::TemporaryFolder folder_;
};

TEST_F(ProgramFolderTest, TheFirstFileOnTheWayIsTheProgram) {
    program("a");
    program("sub/b",
            "\x7f"
            "ELF");
    const ProgramFolder folder = open();
    auto found = folder.find("/a/x/y");
    EXPECT_EQ(found.found, Found::program);
    EXPECT_EQ(found.script, "/a");
    EXPECT_EQ(found.path_info, "/x/y");
    EXPECT_TRUE(found.is_script);
    EXPECT_FALSE(found.folder);
    found = folder.find("/sub/b/");
    EXPECT_EQ(found.found, Found::program);
    EXPECT_EQ(found.script, "/sub/b");
    EXPECT_EQ(found.path_info, "/");
    EXPECT_FALSE(found.is_script);
    EXPECT_TRUE(found.folder);
}

TEST_F(ProgramFolderTest, WhatMayNotBeOpenedIsRefusedAndOtherFaultsAreFailures) {
    program("a");
    testing::FailNth kernel(core::system_kernel());
    const ProgramFolder folder = std::move(*ProgramFolder::open(kernel, folder_.path()));
    for (const auto& [error, found] :
         {std::pair{EACCES, Found::refused}, {ENOENT, Found::missing}, {EMFILE, Found::failed}}) {
        kernel.fail_all(testing::Call::open_beneath, error);
        EXPECT_EQ(folder.find("/a").found, found) << error;
        EXPECT_EQ(folder.find("/a").error, error);
    }
}

TEST_F(ProgramFolderTest, NothingElseIsFound) {
    folder_.write("plain", "x");
    folder_.make_folder("sub");
    folder_.make_fifo("fifo");
    folder_.link("out", "/bin/sh");
    folder_.link("up", "..");
    folder_.link("in", "real");
    program("real");
    const ProgramFolder folder = open();
    EXPECT_EQ(folder.find("/plain").found, Found::refused);
    EXPECT_EQ(folder.find("/fifo").found, Found::refused);
    EXPECT_EQ(folder.find("/in").found, Found::program);
    for (const std::string_view path : {"", "/", "/sub", "/sub/", "/absent", "/out", "/up/x",
                                        "/.hidden", "/sub/.x", "relative", "/sub/absent/real"}) {
        EXPECT_EQ(folder.find(path).found, Found::missing) << path;
    }
    EXPECT_EQ(folder.find("/" + std::string(ProgramFolder::path_bytes_max, 'a')).found,
              Found::missing);
}

TEST_F(ProgramFolderTest, AmpersandsPartArgumentsWhereTheyMay) {
    program("add");
    const ProgramFolder folder = open();
    EXPECT_EQ(folder.find("/add&1&2").found, Found::missing);
    const auto found = folder.find("/add&1&&2/rest", true);
    EXPECT_EQ(found.found, Found::program);
    EXPECT_EQ(found.arguments, (std::vector<std::string>{"1", "", "2"}));
    EXPECT_EQ(found.script, "/add");
    EXPECT_EQ(found.path_info, "/rest");
}

TEST_F(ProgramFolderTest, MustBeAFolder) {
    folder_.write("file", "x");
    EXPECT_FALSE(ProgramFolder::open(core::system_kernel(), folder_.path_of("file")));
    EXPECT_FALSE(ProgramFolder::open(core::system_kernel(), folder_.path_of("absent")));
}

}  // namespace
}  // namespace tiderace::http::cgi
