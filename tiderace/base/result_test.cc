#include "tiderace/base/result.h"

#include <gtest/gtest.h>

#include <cerrno>

namespace tiderace {
namespace {

TEST(Error, NamesOperationObjectReasonAndAdvice) {
    struct Case {
        Error error;
        std::string_view message;
    };
    const Case cases[] = {
        {Error(EACCES, "bind", "0.0.0.0:80", "ports below 1024 need CAP_NET_BIND_SERVICE or root"),
         "bind 0.0.0.0:80: permission denied; ports below 1024 need CAP_NET_BIND_SERVICE or root"},
        {Error(ENOENT, "open", "/srv/www"), "open /srv/www: no such file or directory"},
        {Error(EMFILE, "accept", ""), "accept: too many open files"},
        {Error(0, "read", "site.toml", "line 3 has no value"),
         "read site.toml: line 3 has no value"},
        {Error(0, "resolve", "example.test"), "resolve example.test"},
        {Error(0, "open", "a\r\nb\x1b[2J\x7f\t\xc3\xa9"),
         "open a\\r\\nb\\x1b[2J\\x7f\\x09\xc3\xa9"},
    };
    for (const Case& c : cases) EXPECT_EQ(c.error.message(), c.message);
}

TEST(Error, LastKeepsErrnoOfTheFailedCall) {
    errno = ENOSPC;
    const Error error = Error::last("write", "access.log");
    errno = 0;
    EXPECT_EQ(error.code(), ENOSPC);
    EXPECT_EQ(error.operation(), "write");
    EXPECT_EQ(error.object(), "access.log");
    EXPECT_EQ(error.message(), "write access.log: no space left on device");
}

Result<int> half(int number) {
    if (number % 2 != 0) return fail(Error(EDOM, "halve", std::to_string(number)));
    return number / 2;
}

Result<> check_even(int number) {
    if (const Result<int> halved = half(number); !halved) return fail(halved.error());
    return {};
}

TEST(Result, IsAValueOrAnError) {
    EXPECT_EQ(half(8).value(), 4);
    ASSERT_FALSE(half(7).has_value());
    EXPECT_EQ(half(7).error().code(), EDOM);
    EXPECT_TRUE(check_even(2).has_value());
    ASSERT_FALSE(check_even(3).has_value());
    EXPECT_EQ(check_even(3).error().object(), "3");
}

TEST(DescribeErrno, IsLowerCaseAndKnowsUnknownCodes) {
    EXPECT_EQ(describe_errno(ENOENT), "no such file or directory");
    EXPECT_EQ(describe_errno(EPIPE), "broken pipe");
    EXPECT_FALSE(describe_errno(99'999).empty());
}

}  // namespace
}  // namespace tiderace
