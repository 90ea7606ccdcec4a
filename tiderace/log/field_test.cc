#include "tiderace/log/field.h"

#include <gtest/gtest.h>

#include <string>

namespace tiderace::log {
namespace {

TEST(Field, KeepsTheTypeOfItsValue) {
    EXPECT_EQ(std::get<ByteView>(field("peer", "192.0.2.7").value), "192.0.2.7");
    EXPECT_EQ(std::get<ByteView>(field("peer", std::string_view("a\0b", 3)).value).size(), 3U);
    const std::string path = "/index.html";
    EXPECT_EQ(std::get<ByteView>(field("path", path).value).data(), path.data());
    EXPECT_EQ(std::get<std::int64_t>(field("delta", -3).value), -3);
    EXPECT_EQ(std::get<std::uint64_t>(field("bytes", std::size_t{7}).value), 7U);
    EXPECT_EQ(std::get<std::uint64_t>(field("all", UINT64_MAX).value), UINT64_MAX);
    EXPECT_EQ(std::get<double>(field("load", 0.5F).value), 0.5);
    EXPECT_EQ(std::get<bool>(field("tls", true).value), true);
    EXPECT_EQ(field("tls", true).key, "tls");
}

}  // namespace
}  // namespace tiderace::log
