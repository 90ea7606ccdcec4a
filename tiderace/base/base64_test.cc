#include "tiderace/base/base64.h"

#include <gtest/gtest.h>

namespace tiderace {
namespace {

TEST(Base64, HasTheTextsOfTheRfc) {
    struct Case {
        std::string_view bytes, text;
    };
    const Case cases[] = {
        {"", ""},
        {"f", "Zg=="},
        {"fo", "Zm8="},
        {"foo", "Zm9v"},
        {"foob", "Zm9vYg=="},
        {"fooba", "Zm9vYmE="},
        {"foobar", "Zm9vYmFy"},
        {std::string_view("\xfb\xff\xfe\0", 4), "+//+AA=="},
    };
    for (const Case& one : cases) {
        EXPECT_EQ(base64_of(one.bytes), one.text);
        EXPECT_EQ(read_base64(one.text), one.bytes);
    }
}

TEST(Base64, EveryByteComesBack) {
    std::string all;
    for (int byte = 0; byte < 0x100; ++byte) all += static_cast<char>(byte);
    for (std::size_t size = 0; size <= all.size(); ++size) {
        EXPECT_EQ(read_base64(base64_of(all.substr(0, size))), all.substr(0, size));
    }
}

TEST(Base64, HasOneSpelling) {
    for (const auto text : {"Zg", "Zg=", "Zg===", "Z", "====", "Zm9v=", "Z===", "=Zg=", "Zg==Zg==",
                            "Zh==", "Zm9=", "Zm8 ", "Zm9\n", "Zm9-", "Zm9_", "Zm\x80v", " Zm9v"}) {
        EXPECT_EQ(read_base64(text), std::nullopt) << text;
    }
}

}  // namespace
}  // namespace tiderace
