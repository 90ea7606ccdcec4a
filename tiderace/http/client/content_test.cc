#include "tiderace/http/client/content.h"

#include <gtest/gtest.h>

#include <vector>

namespace tiderace::http {
namespace {

struct Note {
    int id;
    std::string text;
};

TEST(Content, TheTypeFollowsFromWhatItIsMadeOf) {
    const struct {
        Content content;
        const char* type;
        const char* bytes;
    } cases[] = {
        {"text", "text/plain; charset=utf-8", "text"},
        {std::string("text"), "text/plain; charset=utf-8", "text"},
        {std::string_view("text"), "text/plain; charset=utf-8", "text"},
        {Note{7, "a\"b"}, "application/json", R"({"id":7,"text":"a\"b"})"},
        {std::vector<int>{1, 2}, "application/json", "[1,2]"},
        {Content("image/png", "\x89PNG"), "image/png", "\x89PNG"},
    };
    for (const auto& c : cases) {
        EXPECT_EQ(c.content.type(), c.type);
        EXPECT_EQ(c.content.bytes(), c.bytes);
        EXPECT_FALSE(c.content.empty());
    }
    EXPECT_TRUE(Content().empty());
    EXPECT_FALSE(Content("").empty());  // an empty text is a body
}

TEST(Content, AFormIsEncodedAsBrowsersDo) {
    const Content content = form({{"name", "J. Doe & Co"}, {"é", "~1+1=2"}, {"", "*-._"}});
    EXPECT_EQ(content.type(), "application/x-www-form-urlencoded");
    EXPECT_EQ(content.bytes(), "name=J.+Doe+%26+Co&%C3%A9=%7E1%2B1%3D2&=*-._");
    EXPECT_EQ(form({}).bytes(), "");
    const std::vector<FormPair> made = {{"a", "1"}, {"b", "2"}};
    EXPECT_EQ(form(made).bytes(), "a=1&b=2");
}

}  // namespace
}  // namespace tiderace::http
