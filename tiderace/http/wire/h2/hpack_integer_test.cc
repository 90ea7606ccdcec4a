#include "tiderace/http/wire/h2/hpack_integer.h"

#include <gtest/gtest.h>

#include <string>

namespace tiderace::http::wire {
namespace {

using namespace std::string_literals;

std::string written(std::uint8_t pattern, unsigned prefix, std::uint32_t value) {
    char bytes[hpack_integer::bytes_max];
    return {bytes, hpack_integer::write(bytes, pattern, prefix, value)};
}

TEST(HpackInteger, WritesTheExamplesOfTheRfc) {
    EXPECT_EQ(written(0, 5, 10), "\x0a");
    EXPECT_EQ(written(0, 5, 1337), "\x1f\x9a\x0a");
    EXPECT_EQ(written(0, 8 - 1, 42), "\x2a");
    EXPECT_EQ(written(0xe0, 5, 1337), "\xff\x9a\x0a");
}

TEST(HpackInteger, ReadsWhatItWritesAndNothingShorter) {
    for (unsigned prefix = 4; prefix <= 7; ++prefix) {
        for (const std::uint32_t value :
             {0U, 1U, 14U, 15U, 16U, 30U, 31U, 62U, 63U, 126U, 127U, 128U, 142U, 255U, 16'510U,
              2'097'150U, 2'113'662U, hpack_integer::value_max}) {
            const std::string bytes = written(0, prefix, value);
            const char* end = bytes.data() + bytes.size();
            const HpackInteger read = hpack_integer::read(bytes.data(), end, prefix);
            EXPECT_TRUE(read.valid) << value;
            EXPECT_EQ(read.value, value);
            EXPECT_EQ(read.end, end);
            for (std::size_t size = 1; size < bytes.size(); ++size) {
                const std::string cut = bytes.substr(0, size);
                EXPECT_FALSE(hpack_integer::read(cut.data(), cut.data() + size, prefix).valid);
            }
        }
    }
}

TEST(HpackInteger, RefusesMoreBytesThanAnyNumberNeeds) {
    const std::string bad[] = {"\x7f\xff\xff\xff\xff\x01"s, "\x7f\x80\x80\x80\x80\x00"s,
                               "\x7f\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"s};
    for (const std::string& bytes : bad) {
        EXPECT_FALSE(hpack_integer::read(bytes.data(), bytes.data() + bytes.size(), 7).valid);
    }
    // Zeros on top are allowed as long as the bytes are few.
    const std::string padded = "\x7f\x80\x80\x80\x00"s;
    const HpackInteger read = hpack_integer::read(padded.data(), padded.data() + padded.size(), 7);
    EXPECT_TRUE(read.valid);
    EXPECT_EQ(read.value, 127U);
}

}  // namespace
}  // namespace tiderace::http::wire
