#include "tiderace/http/client/client_response.h"

#include <gtest/gtest.h>

namespace tiderace::http {
namespace {

struct User {
    int id;
    std::string name;
};

ClientResponse answer_of(int status, std::string body) {
    ClientResponse answer;
    answer.status = status;
    answer.headers.add("Content-Type", "application/json");
    answer.body = std::move(body);
    return answer;
}

TEST(ClientResponse, JsonIsReadOrSaysWhatIsWrong) {
    EXPECT_EQ(answer_of(200, R"({"id":7,"name":"ann"})").json<User>().name, "ann");
    const ClientResponse wrong = answer_of(404, "<p>nothing</p>");
    EXPECT_FALSE(wrong.read_json<User>());
    try {
        wrong.json<User>();
        FAIL() << "it threw nothing";
    } catch (const std::runtime_error& error) {
        EXPECT_TRUE(std::string_view(error.what()).starts_with("answer 404: ")) << error.what();
        EXPECT_TRUE(std::string_view(error.what()).ends_with("; its body: <p>nothing</p>"));
    }
    try {
        answer_of(200, std::string(1'000, 'x')).json<User>();
        FAIL() << "it threw nothing";
    } catch (const std::runtime_error& error) {
        EXPECT_LT(std::string_view(error.what()).size(), 400U);
    }
}

// The client had its limit when it read the body.
TEST(ClientResponse, JsonMayBeAsLargeAsTheBody) {
    const std::string name(2'000'000, 'x');
    EXPECT_EQ(answer_of(200, R"({"id":7,"name":")" + name + "\"}").json<User>().name, name);
}

TEST(ClientResponse, ItIsOkFrom200To299) {
    EXPECT_TRUE(answer_of(200, "").ok());
    EXPECT_TRUE(answer_of(299, "").ok());
    EXPECT_FALSE(answer_of(199, "").ok());
    EXPECT_FALSE(answer_of(300, "").ok());
    EXPECT_FALSE(ClientResponse().ok());
    EXPECT_EQ(answer_of(200, "a").header("content-TYPE"), "application/json");
}

}  // namespace
}  // namespace tiderace::http
