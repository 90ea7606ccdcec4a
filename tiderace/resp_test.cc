#include "tiderace/resp.h"

#include <string>

#include <gtest/gtest.h>

// The example of the header.
#include "resp_example.h"

namespace tiderace::resp {
namespace {

TEST(Resp, RunsTheExampleOfItsHeader) {
    const Limits limits;
    CommandReader reader(limits);
    std::string out;
    EXPECT_TRUE(answer(reader, "*2\r\n$3\r\nGET\r\n$1\r\nk\r\nPI", out));
    EXPECT_TRUE(answer(reader, "NG\r\n", out));
    EXPECT_FALSE(answer(reader, "*1\r\n$x\r\n", out));
    EXPECT_EQ(out, ":2\r\n:1\r\n-ERR invalid length\r\n");
}

}  // namespace
}  // namespace tiderace::resp
