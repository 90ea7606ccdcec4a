#include "tiderace/http/listing/directory_reader.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tiderace/testing/fault_kernel.h"
#include "tiderace/testing/temporary_folder.h"

namespace tiderace::http::listing {
namespace {

class DirectoryReaderTest : public ::testing::Test {
  protected:
    DirectoryReader reader_of(const std::string& path) {
        return DirectoryReader(kernel_, core::Descriptor(kernel_, ::open(path.c_str(), O_RDONLY)));
    }
    static std::vector<std::string> names(DirectoryReader& reader) {
        std::vector<std::string> found;
        while (const auto entry = reader.next()) found.emplace_back(entry->view());
        return found;
    }

    testing::TemporaryFolder folder_;
    testing::FaultKernel kernel_;
};

TEST_F(DirectoryReaderTest, GivesEachNameOnceWithoutTheTwoDots) {
    std::vector<std::string> expected;
    for (int i = 0; i < 3000; ++i) {  // more than a buffer holds
        expected.push_back("name with spaces " + std::to_string(i));
        folder_.write(expected.back(), "");
    }
    auto reader = reader_of(folder_.path());
    EXPECT_THAT(names(reader), ::testing::UnorderedElementsAreArray(expected));
    EXPECT_EQ(reader.error(), 0);
    EXPECT_FALSE(reader.next()) << "the end stays the end";
}

TEST_F(DirectoryReaderTest, AnEmptyFolderHasNone) {
    auto reader = reader_of(folder_.path());
    EXPECT_FALSE(reader.next());
}

TEST_F(DirectoryReaderTest, AFaultEndsItAndIsReported) {
    folder_.write("a", "");
    auto reader = reader_of(folder_.path());
    kernel_.fail_at(1, EIO);
    EXPECT_FALSE(reader.next());
    EXPECT_EQ(reader.error(), EIO);
}

TEST_F(DirectoryReaderTest, AnInterruptionIsNotSeen) {
    folder_.write("a", "");
    auto reader = reader_of(folder_.path());
    kernel_.fail_at(1, EINTR);
    EXPECT_THAT(names(reader), ::testing::ElementsAre("a"));
}

}  // namespace
}  // namespace tiderace::http::listing
