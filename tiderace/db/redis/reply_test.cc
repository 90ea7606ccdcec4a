#include "tiderace/db/redis/reply.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tiderace/resp/reply_reader.h"

namespace tiderace::db::redis {
namespace {

Reply read(std::string_view bytes) {
    const resp::Limits limits;
    resp::ReplyReader reader(limits);
    EXPECT_EQ(reader.read(bytes), resp::Progress::complete);
    return reader.reply().copy();
}

template <typename T>
auto decoded(std::string_view bytes) {
    const Reply reply = read(bytes);
    return Decode<T>::from(reply.view());
}

template <typename T>
std::string complaint(std::string_view bytes) {
    try {
        (void)decoded<T>(bytes);
    } catch (const Error& error) {
        return error.what();
    }
    return "none";
}

TEST(Reply, BecomesWhatIsAskedFor) {
    EXPECT_EQ(decoded<std::int64_t>(":42\r\n"), 42);
    EXPECT_EQ(decoded<std::int64_t>("$2\r\n42\r\n"), 42);
    EXPECT_EQ(decoded<double>(",1.5\r\n"), 1.5);
    EXPECT_EQ(decoded<double>("$3\r\n1.5\r\n"), 1.5);
    EXPECT_EQ(decoded<bool>("#t\r\n"), true);
    EXPECT_EQ(decoded<bool>(":0\r\n"), false);
    EXPECT_EQ(decoded<std::string>("+OK\r\n"), "OK");
    EXPECT_EQ(decoded<std::string>(":7\r\n"), "7");
    EXPECT_EQ(decoded<std::optional<std::string>>("$-1\r\n"), std::nullopt);
    EXPECT_EQ(decoded<std::optional<std::string>>("$0\r\n\r\n"), "");
    EXPECT_EQ(decoded<std::vector<std::int64_t>>("*2\r\n:1\r\n:2\r\n"),
              (std::vector<std::int64_t>{1, 2}));
    EXPECT_EQ(decoded<std::vector<std::string>>("%1\r\n+a\r\n:1\r\n"),
              (std::vector<std::string>{"a", "1"}));
    EXPECT_EQ(decoded<std::vector<std::optional<std::string>>>("*2\r\n_\r\n+x\r\n").size(), 2U);
}

TEST(Reply, OfAnotherTypeIsAnErrorThatSaysSo) {
    EXPECT_EQ(complaint<std::int64_t>("+OK\r\n"),
              "database: row: the reply is a string and not an integer");
    EXPECT_EQ(complaint<std::string>("*0\r\n"),
              "database: row: the reply is an array and not a string");
    EXPECT_EQ(complaint<std::string>("_\r\n"), "database: row: the reply is null and not a string");
    EXPECT_EQ(complaint<std::vector<std::string>>(":1\r\n"),
              "database: row: the reply is an integer and not an array");
    EXPECT_EQ(complaint<bool>(":2\r\n"),
              "database: row: the reply is an integer and not a boolean");
}

TEST(Reply, ErrorsAreClassified) {
    const struct {
        std::string_view bytes;
        Fault fault;
    } cases[] = {
        {"-WRONGTYPE Operation against a key\r\n", Fault::row},
        {"-NOAUTH Authentication required.\r\n", Fault::configuration},
        {"-LOADING Redis is loading\r\n", Fault::busy},
        {"-OOM command not allowed\r\n", Fault::full},
        {"-ERR unknown command 'x'\r\n", Fault::syntax},
        {"-ERR value is not an integer\r\n", Fault::parameters},
        {"-CROSSSLOT Keys in request\r\n", Fault::parameters},
        {"-MYERROR of a script\r\n", Fault::other},
    };
    for (const auto& each : cases) {
        const Reply reply = read(each.bytes);
        EXPECT_EQ(error_of(reply.view()).kind(), each.fault) << each.bytes;
    }
}

TEST(Reply, ArgumentsStayOutOfErrors) {
    const Reply reply =
        read("-ERR unknown command 'hgt', with args beginning with: 'key' 'secret' \r\n");
    EXPECT_STREQ(error_of(reply.view()).what(), "database: syntax: ERR unknown command 'hgt'");
}

}  // namespace
}  // namespace tiderace::db::redis
