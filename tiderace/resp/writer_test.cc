#include "tiderace/resp/writer.h"

#include <limits>
#include <string>

#include <gtest/gtest.h>

#include "tiderace/resp/command_reader.h"
#include "tiderace/resp/reply_reader.h"

namespace tiderace::resp {
namespace {

template <typename Write>
std::string written(Protocol protocol, Write&& write) {
    std::string out;
    Writer writer(out, protocol);
    write(writer);
    return out;
}

void write_all(Writer& w) {
    w.array(11);
    w.simple("a\r\nb");
    w.error("ERR no");
    w.integer(std::numeric_limits<std::int64_t>::min());
    w.bulk("x\r\ny");
    w.null();
    w.boolean(true);
    w.real(1.5);
    w.big_number("-12");
    w.verbatim("txt", "hello");
    w.map(1);
    w.bulk("k");
    w.set(1);
    w.integer(1);
    w.null_array();
}

TEST(Writer, WritesEveryTypeInBothVersions) {
    EXPECT_EQ(
        written(Protocol::resp3, write_all),
        "*11\r\n+a  b\r\n-ERR no\r\n:-9223372036854775808\r\n$4\r\nx\r\ny\r\n_\r\n#t\r\n,1.5\r\n"
        "(-12\r\n=9\r\ntxt:hello\r\n%1\r\n$1\r\nk\r\n~1\r\n:1\r\n_\r\n");
    EXPECT_EQ(written(Protocol::resp2, write_all),
              "*11\r\n+a  b\r\n-ERR no\r\n:-9223372036854775808\r\n$4\r\nx\r\ny\r\n$-1\r\n:1\r\n"
              "$3\r\n1.5\r\n$3\r\n-12\r\n$5\r\nhello\r\n*2\r\n$1\r\nk\r\n*1\r\n:1\r\n*-1\r\n");
}

TEST(Writer, ItsValuesAreReadBack) {
    for (const Protocol protocol : {Protocol::resp2, Protocol::resp3}) {
        const std::string out = written(protocol, write_all);
        const Limits limits;
        ReplyReader reader(limits);
        ByteView in = out;
        ASSERT_EQ(reader.read(in), Progress::complete);
        EXPECT_EQ(in, "");
        EXPECT_EQ(reader.reply().size(), 11U);
    }
}

TEST(Writer, BulkStringsOfEverySizeAreWhole) {
    for (const std::size_t size : {0U, 1U, 63U, 64U, 65U, 100'000U}) {
        const std::string text(size, 'x');
        EXPECT_EQ(written(Protocol::resp2, [&](Writer& w) { w.bulk(text); }),
                  "$" + std::to_string(size) + "\r\n" + text + "\r\n");
    }
}

TEST(Writer, TheHeadOfABulkStringIsAsThatOfAWholeOne) {
    EXPECT_EQ(written(Protocol::resp2, [](Writer& w) { w.bulk_head(4'000'000'000); }),
              "$4000000000\r\n");
}

TEST(Writer, PushesAndAttributes) {
    EXPECT_EQ(written(Protocol::resp3, [](Writer& w) { w.push(2); }), ">2\r\n");
    EXPECT_EQ(written(Protocol::resp2, [](Writer& w) { w.push(2); }), "*2\r\n");
    EXPECT_EQ(written(Protocol::resp3, [](Writer& w) { w.attribute(1); }), "|1\r\n");
}

TEST(Writer, CommandsAreReadBack) {
    const std::string out =
        written(Protocol::resp2, [](Writer& w) { w.command({"SET", "k", ""}); });
    const Limits limits;
    CommandReader reader(limits);
    ByteView in = out;
    ASSERT_EQ(reader.read(in), Progress::complete);
    EXPECT_EQ(reader.arguments().size(), 3U);
    EXPECT_EQ(reader.arguments()[1], "k");
    EXPECT_EQ(reader.encoded(), out);
}

TEST(Writer, DropsWhatBeginsAboveItsLimit) {
    for (const Protocol protocol : {Protocol::resp2, Protocol::resp3}) {
        std::string out = "before";
        Writer writer(out, protocol, 20);
        EXPECT_FALSE(writer.full());
        writer.bulk("one that ends above it");
        EXPECT_TRUE(writer.full());
        const std::string so_far = out;
        writer.bulk("x");
        writer.bulk_head(1);
        writer.simple("x");
        writer.error("x");
        writer.ok();
        writer.integer(1);
        writer.null();
        writer.null_array();
        writer.boolean(true);
        writer.real(1);
        writer.big_number("1");
        writer.verbatim("txt", "x");
        writer.array(1);
        writer.set(1);
        writer.push(1);
        writer.map(1);
        writer.command({"x"});
        EXPECT_EQ(out, so_far);
    }
}

}  // namespace
}  // namespace tiderace::resp
