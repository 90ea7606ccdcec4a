#include "tiderace/resp/reply_reader.h"

#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tiderace/testing/split_feed.h"

namespace tiderace::resp {
namespace {

using ::testing::ElementsAre;

struct TakenReplies {
    std::vector<std::string> replies;  // described
    Fault fault = Fault::none;
};

void feed(ReplyReader& reader, ByteView in, TakenReplies& taken) {
    while (!in.empty() && taken.fault == Fault::none) {
        const Progress progress = reader.read(in);
        if (progress == Progress::complete) taken.replies.push_back(reader.reply().describe());
        if (progress == Progress::fault) taken.fault = reader.fault();
        if (progress == Progress::more) {
            EXPECT_EQ(in, "");
        }
    }
}

TakenReplies take_replies(ByteView in, const Limits& limits = {}) {
    ReplyReader reader(limits);
    TakenReplies taken;
    feed(reader, in, taken);
    return taken;
}

const Limits narrow_replies{.bulk_bytes_max = 10,
                            .elements_max = 6,
                            .depth_max = 2,
                            .line_bytes_max = 20,
                            .message_bytes_max = 50};

TEST(ReplyReader, ReadsEveryType) {
    const std::vector<std::pair<std::string, std::string>> table{
        {"+OK\r\n", "OK"},
        {"+\r\n", ""},
        {"-ERR no\r\n", "error: ERR no"},
        {":-42\r\n", "-42"},
        {":+42\r\n", "42"},
        {"$2\r\nhi\r\n", "hi"},
        {"$0\r\n\r\n", ""},
        {"$-1\r\n", "null"},
        {"*-1\r\n", "null"},
        {"_\r\n", "null"},
        {"#t\r\n", "true"},
        {"#f\r\n", "false"},
        {",1.5e3\r\n", "1.5e3"},
        {",-inf\r\n", "-inf"},
        {",nan\r\n", "nan"},
        {"(-3492890328409238509324850943850943825024385\r\n",
         "-3492890328409238509324850943850943825024385"},
        {"!10\r\nERR \r\n two\r\n", "error: ERR \r\n two"},
        {"=7\r\ntxt:abc\r\n", "abc"},
        {"=4\r\nmkd:\r\n", ""},
        {"*0\r\n", "[]"},
        {"*3\r\n:1\r\n*2\r\n+a\r\n*0\r\n$-1\r\n", "[1, [a, []], null]"},
        {"~2\r\n:1\r\n:2\r\n", "(1, 2)"},
        {"%2\r\n+a\r\n:1\r\n+b\r\n*1\r\n:2\r\n", "{a: 1, b: [2]}"},
        {"%0\r\n", "{}"},
        {">2\r\n+message\r\n+hi\r\n", "push [message, hi]"},
        {"|1\r\n+ttl\r\n:3\r\n:7\r\n", "7"},
        {"*2\r\n|1\r\n+ttl\r\n:3\r\n:7\r\n|0\r\n:8\r\n", "[7, 8]"},
        {"|1\r\n+a\r\n:1\r\n|1\r\n+b\r\n:2\r\n*1\r\n:3\r\n", "[3]"},
    };
    for (const auto& [input, described] : table) {
        testing::at_every_split(
            input, [&](std::span<const ByteView> pieces, const std::string& how) {
                const Limits limits;
                ReplyReader reader(limits);
                TakenReplies taken;
                for (const ByteView piece : pieces) feed(reader, std::string(piece), taken);
                EXPECT_THAT(taken.replies, ElementsAre(described)) << input << ", " << how;
                EXPECT_EQ(taken.fault, Fault::none);
                EXPECT_FALSE(reader.within());
            });
    }
}

TEST(ReplyReader, RefusesWhatIsMalformedAtEverySplit) {
    const std::vector<std::pair<std::string, Fault>> table{
        {"x", Fault::unknown_type},
        {"\r\n", Fault::unknown_type},
        {"+OK\n", Fault::bad_line},
        {"+O\rK\r\n", Fault::bad_line},
        {"+123456789012345678901\r\n", Fault::line_too_long},
        {"+12345678901234567890123", Fault::line_too_long},
        {":\r\n", Fault::bad_number},
        {":1.5\r\n", Fault::bad_number},
        {":9223372036854775808\r\n", Fault::bad_number},
        {",x\r\n", Fault::bad_number},
        {",\r\n", Fault::bad_number},
        {"(1.5\r\n", Fault::bad_number},
        {"#x\r\n", Fault::bad_boolean},
        {"#\r\n", Fault::bad_boolean},
        {"_x\r\n", Fault::bad_null},
        {"$-2\r\n", Fault::bad_length},
        {"!-1\r\n", Fault::bad_length},
        {"$a\r\n", Fault::bad_length},
        {"$\r\n", Fault::bad_length},
        {"$11\r\n", Fault::bulk_too_large},
        {"$1\r\nab\r\n", Fault::unended_bulk},
        {"=3\r\ntxt\r\n", Fault::bad_verbatim},
        {"=5\r\nplain\r\n", Fault::bad_verbatim},
        {"$?\r\n", Fault::streamed},
        {"*?\r\n", Fault::streamed},
        {"%?\r\n", Fault::streamed},
        {"*-2\r\n", Fault::bad_length},
        {"%-1\r\n", Fault::bad_length},
        {"*7\r\n", Fault::too_many_elements},
        {"%4\r\n", Fault::too_many_elements},
        {"*999999999999999999\r\n", Fault::too_many_elements},
        {"*3\r\n*3\r\n", Fault::too_many_elements},
        {"|0\r\n|0\r\n|0\r\n|0\r\n|0\r\n|0\r\n|0\r\n", Fault::too_many_elements},
        {"*1\r\n*1\r\n*1\r\n", Fault::too_deep},
        {"|1\r\n*1\r\n*1\r\n", Fault::too_deep},
        {"*1\r\n>1\r\n+a\r\n", Fault::nested_push},
        {"*5\r\n$9\r\n123456789\r\n$9\r\n123456789\r\n$9\r\n123456789\r\n$9\r\n",
         Fault::message_too_large},
        {"*5\r\n+1234567890123\r\n+1234567890123\r\n+1234567890123\r\n:1\r\n",
         Fault::message_too_large},
    };
    for (const auto& [input, fault] : table) {
        testing::at_every_split(input, [&](std::span<const ByteView> pieces,
                                           const std::string& how) {
            ReplyReader reader(narrow_replies);
            TakenReplies taken;
            for (const ByteView piece : pieces) feed(reader, piece, taken);
            EXPECT_EQ(taken.fault, fault) << input << ", " << how << ": " << to_string(taken.fault);
            EXPECT_THAT(taken.replies, ElementsAre());
        });
    }
}

TEST(ReplyReader, TakesWhatIsExactlyAtALimit) {
    const std::vector<std::pair<std::string, std::string>> table{
        {"*4\r\n$10\r\n1234567890\r\n$10\r\n1234567890\r\n$0\r\n\r\n$0\r\n\r\n",
         "[1234567890, 1234567890, , ]"},
        {"*3\r\n:1\r\n:2\r\n*2\r\n:3\r\n:4\r\n", "[1, 2, [3, 4]]"},
        {"+12345678901234567890\r\n", "12345678901234567890"},
    };
    for (const auto& [input, described] : table) {
        EXPECT_THAT(take_replies(input, narrow_replies).replies, ElementsAre(described)) << input;
    }
}

TEST(ReplyReader, ReadsOneReplyAfterTheOther) {
    EXPECT_THAT(take_replies("+a\r\n$1\r\nb\r\n*1\r\n:3\r\n>1\r\n+d\r\n").replies,
                ElementsAre("a", "b", "[3]", "push [d]"));
}

TEST(ReplyReader, DoesNotCopyAReplyThatIsThere) {
    const Limits limits;
    ReplyReader reader(limits);
    const ByteView input = "$5\r\nhello\r\n+x\r\n";
    ByteView in = input;
    ASSERT_EQ(reader.read(in), Progress::complete);
    EXPECT_EQ(reader.reply().text().data(), input.data() + 4);
    EXPECT_EQ(in, "+x\r\n");
}

TEST(ReplyReader, AFaultStays) {
    const Limits limits;
    ReplyReader reader(limits);
    ByteView in = "?";
    EXPECT_EQ(reader.read(in), Progress::fault);
    in = "+OK\r\n";
    EXPECT_EQ(reader.read(in), Progress::fault);
    EXPECT_FALSE(reader.reply());
}

TEST(ReplyReader, AnnouncedLengthsTakeNoMemory) {
    const Limits limits;
    ReplyReader reader(limits);
    ByteView in = "*1048576\r\n$536870912\r\nx";
    EXPECT_EQ(reader.read(in), Progress::more);
    EXPECT_LT(reader.held_bytes(), 2_KiB);
}

TEST(ReplyReader, LargeRepliesByteByByteTakeLinearWork) {
    // Quadratic work would be 10^12 steps here, and the test would not end.
    const Limits limits;
    ReplyReader reader(limits);
    std::string input = "*2\r\n*100000\r\n";
    for (int i = 0; i < 100'000; ++i) input += ":1\r\n";
    input += "$500000\r\n" + std::string(500'000, 'x') + "\r\n";
    std::size_t replies = 0;
    for (const char& each : input) {
        ByteView in(&each, 1);
        if (reader.read(in) == Progress::complete) ++replies;
    }
    EXPECT_EQ(replies, 1U);
    EXPECT_EQ(reader.reply()[0].size(), 100'000U);
    EXPECT_EQ(reader.reply()[1].text().size(), 500'000U);
    reader.release();
    EXPECT_LT(reader.held_bytes(), 4_KiB);
}

}  // namespace
}  // namespace tiderace::resp
