#include "tiderace/resp/message_bytes.h"

#include <string>

#include <gtest/gtest.h>

namespace tiderace::resp {
namespace {

TEST(MessageBytes, ALengthIsANumberAndTheEndOfItsLine) {
    const auto read = [](ByteView bytes, std::int64_t& length) {
        std::size_t at = 1;
        const Progress progress = read_length(bytes, at, length);
        EXPECT_EQ(at, progress == Progress::complete ? bytes.size() : 1);
        return progress;
    };
    std::int64_t length = 0;
    EXPECT_EQ(read("$12\r\n", length), Progress::complete);
    EXPECT_EQ(length, 12);
    EXPECT_EQ(read("$-1\r\n", length), Progress::complete);
    EXPECT_EQ(length, -1);
    for (const char* more : {"$", "$-", "$1", "$123456789012345678", "$1\r"}) {
        EXPECT_EQ(read(more, length), Progress::more) << more;
    }
    for (const char* bad :
         {"$\r\n", "$-\r\n", "$+1\r\n", "$1\n", "$1 \r\n", "$1\rx", "$a", "$1234567890123456789"}) {
        EXPECT_EQ(read(bad, length), Progress::fault) << bad;
    }
}

// A message of a fixed size.
struct Fixed {
    std::size_t bytes;
    std::size_t scans = 0;
    Step operator()(ByteView message) {
        ++scans;
        return message.size() < bytes ? Step{Progress::more, bytes}
                                      : Step{Progress::complete, bytes};
    }
};

TEST(MessageBytes, AMessageThatIsThereIsNotCopied) {
    MessageBytes bytes;
    Fixed scan{4};
    const ByteView input = "abcdefgh";
    ByteView in = input;
    EXPECT_EQ(bytes.read(in, scan), Progress::complete);
    EXPECT_EQ(bytes.base(), input.data());
    EXPECT_EQ(in, "efgh");
}

TEST(MessageBytes, GathersExactlyOneMessageAndLeavesWhatFollows) {
    MessageBytes bytes;
    Fixed scan{4};
    ByteView in = "ab";
    EXPECT_EQ(bytes.read(in, scan), Progress::more);
    EXPECT_EQ(in, "");
    in = "c";
    EXPECT_EQ(bytes.read(in, scan), Progress::more);
    in = "defgh";
    EXPECT_EQ(bytes.read(in, scan), Progress::complete);
    EXPECT_EQ(in, "efgh");
    EXPECT_EQ(ByteView(bytes.base(), 4), "abcd");
    EXPECT_EQ(scan.scans, 2U) << "one scan for each time that enough bytes are there";
}

TEST(MessageBytes, KeepsLittleMemoryAfterALargeMessage) {
    MessageBytes bytes;
    Fixed scan{100'000};
    const std::string half(50'000, 'x');
    ByteView in = half;
    bytes.read(in, scan);
    in = half;
    EXPECT_EQ(bytes.read(in, scan), Progress::complete);
    EXPECT_GE(bytes.held_bytes(), 100'000U);
    bytes.clear();
    EXPECT_LE(bytes.held_bytes(), 1_KiB);
}

}  // namespace
}  // namespace tiderace::resp
