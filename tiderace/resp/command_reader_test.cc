#include "tiderace/resp/command_reader.h"

#include <chrono>
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tiderace/testing/split_feed.h"

namespace tiderace::resp {
namespace {

using ::testing::ElementsAre;

using Words = std::vector<std::string>;

struct TakenCommands {
    std::vector<Words> commands;
    Fault fault = Fault::none;
};

void feed(CommandReader& reader, ByteView in, TakenCommands& taken) {
    while (!in.empty() && taken.fault == Fault::none) {
        const Progress progress = reader.read(in);
        if (progress == Progress::more) {
            EXPECT_EQ(in, "");
        } else if (progress == Progress::fault) {
            taken.fault = reader.fault();
        } else {
            Words words;
            for (const ByteView each : reader.arguments()) words.emplace_back(each);
            taken.commands.push_back(std::move(words));
        }
    }
}

TakenCommands take_commands(ByteView in, const Limits& limits = {}) {
    CommandReader reader(limits);
    TakenCommands taken;
    feed(reader, in, taken);
    return taken;
}

const Limits narrow_commands{
    .bulk_bytes_max = 10, .elements_max = 4, .line_bytes_max = 20, .message_bytes_max = 50};

TEST(CommandReader, ReadsPipelinedCommandsOfBothKinds) {
    const TakenCommands taken =
        take_commands("*2\r\n$3\r\nGET\r\n$1\r\nk\r\nPING\r\n*1\r\n$0\r\n\r\nset a \"b c\"\n");
    EXPECT_THAT(taken.commands,
                ElementsAre(Words{"GET", "k"}, Words{"PING"}, Words{""}, Words{"set", "a", "b c"}));
    EXPECT_EQ(taken.fault, Fault::none);
}

TEST(CommandReader, EmptyArraysAndLinesAreCommandsWithoutArguments) {
    EXPECT_THAT(take_commands("*0\r\n*-1\r\n\r\n\n").commands,
                ElementsAre(Words{}, Words{}, Words{}, Words{}));
}

TEST(CommandReader, BulkStringsHoldAnyByte) {
    using namespace std::string_literals;
    EXPECT_THAT(take_commands("*1\r\n$6\r\n\r\n\0*$\xff\r\n"s).commands,
                ElementsAre(Words{"\r\n\0*$\xff"s}));
}

TEST(CommandReader, TheResultDoesNotDependOnCuts) {
    const std::string input =
        "*3\r\n$3\r\nSET\r\n$1\r\nk\r\n$6\r\na\r\nb\r\n\r\nGET 'x "
        "y'\r\n\r\n*0\r\n*1\r\n$4\r\nPING\r\n";
    const TakenCommands whole = take_commands(input);
    ASSERT_EQ(whole.commands.size(), 5U);
    testing::at_every_split(input, [&](std::span<const ByteView> pieces, const std::string& how) {
        const Limits limits;
        CommandReader reader(limits);
        TakenCommands taken;
        for (const ByteView piece : pieces) {
            feed(reader, std::string(piece), taken);  // a copy that is gone after each piece
        }
        EXPECT_EQ(taken.commands, whole.commands) << how;
        EXPECT_FALSE(reader.within()) << how;
    });
}

TEST(CommandReader, RefusesWhatIsMalformedAtEverySplit) {
    const std::vector<std::pair<std::string, Fault>> table{
        {"*a\r\n", Fault::bad_length},
        {"*1\n", Fault::bad_length},
        {"*1\rx", Fault::bad_length},
        {"*1234567890123456789\r\n", Fault::bad_length},
        {"*5\r\n", Fault::too_many_elements},
        {"*1\r\n+OK\r\n", Fault::bulk_expected},
        {"*1\r\n:1\r\n", Fault::bulk_expected},
        {"*1\r\n$-1\r\n", Fault::bad_length},
        {"*1\r\n$x\r\n", Fault::bad_length},
        {"*1\r\n$11\r\n", Fault::bulk_too_large},
        {"*1\r\n$999999999999999999\r\n", Fault::bulk_too_large},
        {"*1\r\n$1\r\nabc", Fault::unended_bulk},
        {"*1\r\n$1\r\na\n\n", Fault::unended_bulk},
        {"*4\r\n$9\r\n123456789\r\n$9\r\n123456789\r\n$9\r\n123456789\r\n$9\r\n",
         Fault::message_too_large},
        {"123456789012345678901\n", Fault::line_too_long},
        {"1234567890123456789012", Fault::line_too_long},
        {"a \"b\r\n", Fault::unbalanced_quotes},
        {"a b c d e\r\n", Fault::too_many_elements},
        {"a 12345678901\r\n", Fault::bulk_too_large},
    };
    for (const auto& [input, fault] : table) {
        testing::at_every_split(input, [&](std::span<const ByteView> pieces,
                                           const std::string& how) {
            CommandReader reader(narrow_commands);
            TakenCommands taken;
            for (const ByteView piece : pieces) feed(reader, piece, taken);
            EXPECT_EQ(taken.fault, fault) << input << ", " << how << ": " << to_string(taken.fault);
            EXPECT_THAT(taken.commands, ElementsAre());
        });
    }
}

// Whatever a page in a browser can make it send first is no command, and nothing behind it is one.
TEST(CommandReader, RefusesWhatABrowserSendsAtEverySplit) {
    using namespace std::string_literals;
    const std::vector<std::string> table{
        "GET / HTTP/1.1\r\nHost: a\r\n",
        "HEAD /FLUSHALL HTTP/1.0\r\n",
        "OPTIONS * HTTP/1.1\r\n",
        "PUT /k HTTP/1.1\r\n",
        "DELETE /k HTTP/1.1\r\n",
        "SET /k HTTP/1.1\r\n",  // a method of the page's own
        "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
        "POST /\r\n",
        "post\n",
        "Host: a\r\n",
        "Content-Type: text/plain\r\n",
        "\x16\x03\x01\x02"s,
        "$?\r\x05",  // no end of a line comes
        "\x16\x03\x01\r\nFLUSHALL\r\n"s,
        "\0\x03\0\x10\r\nFLUSHALL\r\n"s,
    };
    const Limits limits;
    for (const std::string& input : table) {
        testing::at_every_split(
            input, [&](std::span<const ByteView> pieces, const std::string& how) {
                CommandReader reader(limits);
                TakenCommands taken;
                for (const ByteView piece : pieces) feed(reader, piece, taken);
                EXPECT_EQ(taken.fault, Fault::foreign_protocol) << input << ", " << how;
                EXPECT_THAT(taken.commands, ElementsAre());
            });
    }
}

TEST(CommandReader, OtherLimitsHoldFromTheNextCommandOn) {
    const Limits wide;
    CommandReader reader(narrow_commands);
    ByteView in = "*1\r\n$4\r\nAUTH\r\n*1\r\n$11\r\n12345678901\r\n";
    ASSERT_EQ(reader.read(in), Progress::complete);
    reader.set_limits(wide);
    EXPECT_EQ(reader.arguments()[0], "AUTH");
    ASSERT_EQ(reader.read(in), Progress::complete);
    EXPECT_EQ(reader.arguments()[0], "12345678901");
}

TEST(CommandReader, TakesWhatAPersonTypes) {
    EXPECT_THAT(
        take_commands("GET k\r\nGET HTTP\nHTTP/1.1\nEXISTS a: b:\nSET k \"\\x16\\x00\"\n\tGET\tü\n")
            .commands,
        ElementsAre(Words{"GET", "k"}, Words{"GET", "HTTP"}, Words{"HTTP/1.1"},
                    Words{"EXISTS", "a:", "b:"}, Words{"SET", "k", std::string("\x16\0", 2)},
                    Words{"GET", "ü"}));
    const TakenCommands framed = take_commands("*3\r\n$3\r\nSET\r\n$1\r\nk\r\n$8\r\nHTTP/1.1\r\n");
    EXPECT_THAT(framed.commands, ElementsAre(Words{"SET", "k", "HTTP/1.1"}));
}

TEST(CommandReader, TakesWhatIsJustWithinItsLimits) {
    EXPECT_THAT(
        take_commands("*4\r\n$10\r\n1234567890\r\n$0\r\n\r\n$0\r\n\r\n$0\r\n\r\n", narrow_commands)
            .commands,
        ElementsAre(Words{"1234567890", "", "", ""}));
    EXPECT_THAT(take_commands("1234567890 a b 67890\r\n", narrow_commands).commands,
                ElementsAre(Words{"1234567890", "a", "b", "67890"}));
}

TEST(CommandReader, AFaultStays) {
    const Limits limits;
    CommandReader reader(limits);
    ByteView in = "*1\r\nPING\r\n";
    EXPECT_EQ(reader.read(in), Progress::fault);
    EXPECT_EQ(reader.found(), 'P');
    ByteView good = "*1\r\n$4\r\nPING\r\n";
    EXPECT_EQ(reader.read(good), Progress::fault);
}

TEST(CommandReader, DoesNotCopyACommandThatIsThere) {
    const Limits limits;
    CommandReader reader(limits);
    const ByteView input = "*2\r\n$3\r\nGET\r\n$1\r\nk\r\n*1\r\n";
    ByteView in = input;
    ASSERT_EQ(reader.read(in), Progress::complete);
    EXPECT_EQ(reader.arguments()[1].data(), input.data() + 17);
    EXPECT_EQ(reader.encoded(), input.substr(0, 20));
    EXPECT_EQ(in, "*1\r\n");
    EXPECT_EQ(reader.arguments().from(1).size(), 1U);
}

TEST(CommandReader, AnnouncedLengthsTakeNoMemory) {
    const Limits limits;
    CommandReader reader(limits);
    ByteView in = "*1048576\r\n$536870912\r\nx";
    EXPECT_EQ(reader.read(in), Progress::more);
    EXPECT_TRUE(reader.within());
    EXPECT_LT(reader.held_bytes(), 2_KiB);
}

TEST(CommandReader, LargeCommandsByteByByteTakeLinearWork) {
    // Quadratic work would be 10^12 steps here, and the test would not end.
    const Limits limits;
    CommandReader reader(limits);
    std::string input = "*100001\r\n$4\r\nMSET\r\n";
    for (int i = 0; i < 100'000; ++i) input += "$1\r\nx\r\n";
    TakenCommands taken;
    for (const char& each : input) feed(reader, ByteView(&each, 1), taken);
    ASSERT_EQ(taken.commands.size(), 1U);
    EXPECT_EQ(taken.commands[0].size(), 100'001U);
    reader.release();
    EXPECT_LT(reader.held_bytes(), 2_KiB);
}

}  // namespace
}  // namespace tiderace::resp
