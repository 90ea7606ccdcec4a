#include "tiderace/http/wire/response_head.h"

#include <gtest/gtest.h>

#include <array>
#include <memory>
#include <string>

#include "tiderace/http/wire/field_syntax.h"

namespace tiderace::http::wire {
namespace {

using namespace std::string_literals;
using Fault = ResponseHeadWriter::Fault;

constexpr ByteView date = "Sun, 06 Nov 1994 08:49:37 GMT";

TEST(ResponseHead, IsAStatusLineFieldsAndAnEmptyLine) {
    std::array<char, 512> space;
    ResponseHeadWriter writer(space);
    EXPECT_TRUE(writer.status(206));
    EXPECT_TRUE(writer.lines("Server: tiderace\r\n"));
    EXPECT_TRUE(writer.date(date));
    EXPECT_TRUE(writer.field(FieldName::content_type, "text/html; charset=utf-8"));
    EXPECT_TRUE(writer.number(FieldName::content_length, 18446744073709551615U));
    EXPECT_TRUE(writer.field("X-Tide", "high\twater \xc3\xa9"));
    EXPECT_TRUE(writer.field("X", ""));
    EXPECT_TRUE(writer.end());
    EXPECT_EQ(
        writer.written(),
        "HTTP/1.1 206 Partial Content\r\nServer: tiderace\r\n"
        "Date: Sun, 06 Nov 1994 08:49:37 GMT\r\nContent-Type: text/html; charset=utf-8\r\n"
        "Content-Length: 18446744073709551615\r\nX-Tide: high\twater \xc3\xa9\r\nX: \r\n\r\n");
    EXPECT_EQ(writer.fault(), Fault::none);
}

TEST(ResponseHead, CopiesPiecesOfEverySize) {
    std::array<char, 512> space;
    for (std::size_t size = 0; size < 200; ++size) {
        std::string value;
        for (std::size_t i = 0; i < size; ++i) value += static_cast<char>('!' + i % 90);
        ResponseHeadWriter writer(space);
        ASSERT_TRUE(writer.field("Name", value));
        ASSERT_EQ(writer.written(), "Name: " + value + "\r\n");
    }
}

TEST(ResponseHead, StatusesWithoutARegisteredPhraseAreWrittenToo) {
    std::array<char, 64> space;
    for (const auto& [code, reason, expected] :
         {std::tuple{299, "", "HTTP/1.1 299 \r\n"},
          std::tuple{200, "Fine", "HTTP/1.1 200 Fine\r\n"},
          std::tuple{999, "", "HTTP/1.1 999 \r\n"},
          std::tuple{100, "", "HTTP/1.1 100 Continue\r\n"}}) {
        ResponseHeadWriter writer(space);
        EXPECT_TRUE(writer.status(code, reason));
        EXPECT_EQ(writer.written(), expected);
    }
    for (const int code : {99, 1000, 0, -200}) {
        ResponseHeadWriter writer(space);
        EXPECT_FALSE(writer.status(code));
        EXPECT_EQ(writer.fault(), Fault::bad_status) << code;
    }
    ResponseHeadWriter writer(space);
    EXPECT_FALSE(writer.status(200, "a\r\nb"));
}

TEST(ResponseHead, NoControlCharacterGetsIn) {
    std::array<char, 128> space;
    for (int byte = 0; byte < 256; ++byte) {
        const char c = static_cast<char>(byte);
        const std::string value = "a" + std::string(1, c) + "b";
        ResponseHeadWriter by_number(space);
        EXPECT_EQ(by_number.field(FieldName::location, value), is(value_byte, c)) << byte;
        ResponseHeadWriter by_text(space);
        EXPECT_EQ(by_text.field("X", value), is(value_byte, c)) << byte;
        EXPECT_EQ(by_text.fault(), is(value_byte, c) ? Fault::none : Fault::bad_value);
        ResponseHeadWriter name(space);
        EXPECT_EQ(name.field(value, "v"), is(token_byte, c)) << byte;
        EXPECT_EQ(name.fault(), is(token_byte, c) ? Fault::none : Fault::bad_name);
    }
    ResponseHeadWriter unnamed(space);
    EXPECT_FALSE(unnamed.field("", "v"));
}

TEST(ResponseHead, AFaultStays) {
    std::array<char, 128> space;
    ResponseHeadWriter writer(space);
    EXPECT_TRUE(writer.status(200));
    EXPECT_FALSE(writer.field("Location", "/\r\nSet-Cookie: a"));
    EXPECT_FALSE(writer.field("X", "y"));
    EXPECT_FALSE(writer.status(200));
    EXPECT_FALSE(writer.number(FieldName::content_length, 1));
    EXPECT_FALSE(writer.field("X Y", "y"));
    EXPECT_FALSE(writer.end());
    EXPECT_EQ(writer.fault(), Fault::bad_value);
    EXPECT_EQ(writer.written(), "");
}

TEST(ResponseHead, ADateThatIsNotOneIsRefused) {
    std::array<char, 128> space;
    ResponseHeadWriter writer(space);
    EXPECT_FALSE(writer.date("now"));
    EXPECT_EQ(writer.fault(), Fault::bad_value);
    EXPECT_EQ(writer.written(), "");
}

// Every size of space: a head of exactly that size fits, a larger one never touches what is past
// it.
TEST(ResponseHead, NeverWritesPastItsSpace) {
    const auto write = [](ResponseHeadWriter& writer) {
        writer.status(404);
        writer.status(299, "Odd");
        writer.date(date);
        writer.number(FieldName::content_length, 123456);
        writer.field("X-Tide", "high");
        writer.field(FieldName::location, "/a/somewhat/longer/path/than/sixteen");
        writer.end();
    };
    std::array<char, 512> large;
    ResponseHeadWriter whole(large);
    write(whole);
    const std::string expected(whole.written());
    ASSERT_FALSE(expected.empty());
    for (std::size_t size = 0; size <= expected.size(); ++size) {
        const std::unique_ptr<char[]> space(new char[size + 1]);
        space[size] = '#';
        ResponseHeadWriter writer({space.get(), size});
        write(writer);
        EXPECT_EQ(space[size], '#') << size;
        EXPECT_EQ(writer.fault(), size == expected.size() ? Fault::none : Fault::overflow);
        EXPECT_EQ(writer.written(), size == expected.size() ? expected : "");
    }
}

TEST(ResponseHeadDeathTest, AFieldWithoutANameIsOurOwnFault) {
    std::array<char, 64> space;
    ResponseHeadWriter writer(space);
    EXPECT_DEATH(writer.field(FieldName::other, "x"), "needs a name");
    EXPECT_DEATH(writer.number(FieldName::other, 1), "needs a name");
}

}  // namespace
}  // namespace tiderace::http::wire
