#include "tiderace/http/listing/rows.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fcntl.h>

#include <algorithm>

#include "tiderace/testing/fault_kernel.h"
#include "tiderace/testing/temporary_folder.h"

namespace tiderace::http::listing {
namespace {

using ::testing::ElementsAre;
using ::testing::UnorderedElementsAre;

TEST(ListingRows, NumbersInNamesCountAsNumbers) {
    std::vector<std::string> names = {"file10", "file2",  "File1", "a",   "B",  "b",
                                      "file02", "file2a", "1",     "10b", "2b", ""};
    std::ranges::sort(names, [](const auto& a, const auto& b) { return comes_before(a, b); });
    EXPECT_THAT(names, ElementsAre("", "1", "2b", "10b", "a", "B", "b", "File1", "file02", "file2",
                                   "file2a", "file10"));
    for (const auto& name : names) EXPECT_FALSE(comes_before(name, name)) << name;
}

class ListingRowsTest : public ::testing::Test {
  protected:
    ListingRowsTest() : root_(kernel_, ::open(folder_.path().c_str(), O_RDONLY | O_DIRECTORY)) {}

    std::vector<std::string> names(ListingOrder order = {}, std::size_t sorted_max = 100,
                                   bool hidden = false) {
        files::FileLoader loader(kernel_, root_.get());
        ListingRoom room({.sorted_max = sorted_max});
        ListingRows rows(loader, std::move(loader.open("/").descriptor), "/", hidden, order, room);
        sorted_ = rows.sorted();
        std::vector<std::string> found;
        while (const auto row = rows.next()) {
            found.push_back(std::string(row->name) + (row->directory ? "/" : ""));
        }
        return found;
    }

    testing::TemporaryFolder folder_;
    testing::FaultKernel kernel_;
    core::Descriptor root_;
    bool sorted_ = false;
};

TEST_F(ListingRowsTest, FoldersComeFirstAndEachOrderHolds) {
    folder_.write("small.txt", "1");
    folder_.write("large.txt", "12345");
    folder_.write("mid.txt", "123");
    folder_.make_folder("zoo");
    folder_.set_time("small.txt", 300);
    folder_.set_time("large.txt", 100);
    folder_.set_time("mid.txt", 200);
    using enum ListingSort;
    EXPECT_THAT(names(), ElementsAre("zoo/", "large.txt", "mid.txt", "small.txt"));
    EXPECT_THAT(names({name, true}), ElementsAre("zoo/", "small.txt", "mid.txt", "large.txt"));
    EXPECT_THAT(names({size, true}), ElementsAre("zoo/", "large.txt", "mid.txt", "small.txt"));
    EXPECT_THAT(names({size, false}), ElementsAre("zoo/", "small.txt", "mid.txt", "large.txt"));
    EXPECT_THAT(names({time, true}), ElementsAre("zoo/", "small.txt", "mid.txt", "large.txt"));
    EXPECT_TRUE(sorted_);
    folder_.set_time("large.txt", -100);  // 1969
    EXPECT_THAT(names({time, false}), ElementsAre("zoo/", "large.txt", "mid.txt", "small.txt"));
}

TEST_F(ListingRowsTest, WhatWouldNotBeServedDoesNotShow) {
    folder_.write("a.txt", "a");
    folder_.write(".hidden", "h");
    folder_.make_fifo("pipe");
    folder_.link("inside", "a.txt");
    folder_.link("outside", "/etc/passwd");
    folder_.link("dangling", "nowhere");
    EXPECT_THAT(names(), ElementsAre("a.txt", "inside"));
    EXPECT_THAT(names({}, 100, true), ElementsAre(".hidden", "a.txt", "inside"));
}

TEST_F(ListingRowsTest, MoreThanCanBeSortedComesInTheFoldersOwnOrder) {
    for (const char* name : {"a", "b", "c", "d"}) folder_.write(name, name);
    EXPECT_THAT(names({}, 4), ElementsAre("a", "b", "c", "d"));
    EXPECT_TRUE(sorted_);
    EXPECT_THAT(names({}, 3), UnorderedElementsAre("a", "b", "c", "d"));
    EXPECT_FALSE(sorted_);
}

TEST_F(ListingRowsTest, EntriesThatVanishAreLeftOut) {
    for (const char* name : {"a", "b", "c"}) folder_.write(name, name);
    files::FileLoader loader(kernel_, root_.get());
    ListingRoom room({.sorted_max = 100});
    ListingRows rows(loader, std::move(loader.open("/").descriptor), "/", false, {}, room);
    EXPECT_EQ(rows.next()->name, "a");
    folder_.remove("b");
    EXPECT_EQ(rows.next()->name, "c");
    EXPECT_FALSE(rows.next());
}

}  // namespace
}  // namespace tiderace::http::listing
