#include "tiderace/tls/encrypted_extensions.h"

#include <gtest/gtest.h>

#include <string>

namespace tiderace::tls {
namespace {

using namespace std::string_literals;

std::string with_length(std::size_t bytes, const std::string& value) {
    std::string made;
    for (std::size_t i = bytes; i > 0; --i) {
        made += static_cast<char>(value.size() >> (8 * (i - 1)));
    }
    return made + value;
}
std::string extension(int type, const std::string& value) {
    return std::string{static_cast<char>(type >> 8), static_cast<char>(type)} +
           with_length(2, value);
}
std::string message(const std::string& extensions) {
    return '\x08' + with_length(3, with_length(2, extensions));
}
std::size_t payload_bytes_max(const std::string& extensions) {
    const auto agreed = read_encrypted_extensions(message(extensions));
    return agreed ? agreed->payload_bytes_max : 0;
}

const std::string protocol = extension(16, with_length(2, with_length(1, "h2")));
const std::string groups = extension(10, with_length(2, "\0\x1d\0\x17"s));

TEST(EncryptedExtensions, ThatSayNothingAboutRecordsChangeNothing) {
    EXPECT_EQ(payload_bytes_max(""), 16'384u);
    EXPECT_EQ(payload_bytes_max(protocol), 16'384u);
    EXPECT_EQ(payload_bytes_max(extension(0, "") + groups + protocol), 16'384u);
    const std::string long_one = extension(0, std::string(0x1234, 'x'));
    EXPECT_EQ(payload_bytes_max(protocol + long_one + groups), 16'384u);
}

TEST(EncryptedExtensions, SayHowLongAFragmentMayBe) {
    const std::size_t lengths[] = {512, 1'024, 2'048, 4'096};
    for (char code = 1; code <= 4; ++code) {
        const std::string fragment = extension(1, std::string(1, code));
        const std::size_t expected = lengths[code - 1];
        EXPECT_EQ(payload_bytes_max(fragment), expected);
        EXPECT_EQ(payload_bytes_max(protocol + fragment + groups), expected);
    }
    for (const std::string& bad : {""s, "\0"s, "\5"s, "\xff"s, "\1\1"s}) {
        EXPECT_EQ(payload_bytes_max(extension(1, bad)), 0u) << bad.size();
    }
}

TEST(EncryptedExtensions, ThatAreNotKnownLeaveTheConnectionToOpenssl) {
    for (int type = 0; type < 300; ++type) {
        if (type == 0 || type == 1 || type == 10 || type == 16) continue;
        EXPECT_EQ(payload_bytes_max(protocol + extension(type, "\x40\0"s)), 0u) << type;
    }
    EXPECT_EQ(payload_bytes_max(extension(28, "\x02\0"s)), 0u);        // record_size_limit
    EXPECT_EQ(payload_bytes_max(extension(0xff01, "\0"s)), 0u);        // renegotiation_info
    EXPECT_EQ(payload_bytes_max(extension(0x0a0a, "") + groups), 0u);  // a reserved one
}

TEST(EncryptedExtensions, ThatAreCutOrHaveMoreBehindThemAreNoMessage) {
    const std::string whole = message(protocol + extension(1, "\2") + groups);
    ASSERT_TRUE(read_encrypted_extensions(whole).has_value());
    for (std::size_t bytes = 0; bytes < whole.size(); ++bytes) {
        EXPECT_FALSE(read_encrypted_extensions(whole.substr(0, bytes)).has_value()) << bytes;
    }
    EXPECT_FALSE(read_encrypted_extensions(whole + '\0').has_value());
    std::string other = whole;
    other[0] = 2;
    EXPECT_FALSE(read_encrypted_extensions(other).has_value());
    const std::string behind = '\x08' + with_length(3, with_length(2, protocol) + '\0');
    EXPECT_FALSE(read_encrypted_extensions(behind).has_value());
    EXPECT_FALSE(read_encrypted_extensions('\x08' + with_length(3, "\0\5a"s)).has_value());
    EXPECT_EQ(payload_bytes_max("\0"s), 0u);
    EXPECT_EQ(payload_bytes_max("\0\x10"s), 0u);
    EXPECT_EQ(payload_bytes_max("\0\x10\0"s), 0u);
    EXPECT_EQ(payload_bytes_max("\0\x10\0\1"s), 0u);
}

}  // namespace
}  // namespace tiderace::tls
