#include "tiderace/http/wire/cgi/meta_variables.h"

#include <gtest/gtest.h>

#include <string>

#include "tiderace/http/wire/cgi/fcgi_records.h"

namespace tiderace::http::wire::cgi {
namespace {

class MetaVariablesOf : public ::testing::Test {
  protected:
    MetaVariablesOf() {
        head_.set_method("GET");
        facts_.head = &head_;
        facts_.method = "GET";
        facts_.protocol = "HTTP/1.1";
        facts_.authority = "a.example:8080";
        facts_.script_name = "/cgi-bin/x";
        facts_.remote_address = "192.0.2.1";
        facts_.remote_port = 5000;
    }
    std::string value(ByteView name) { return std::string(make_meta_variables(facts_).find(name)); }
    bool has(ByteView name) {
        const MetaVariables all = make_meta_variables(facts_);
        for (std::size_t i = 0; i < all.size(); ++i) {
            if (all[i].name == name) return true;
        }
        return false;
    }

    RequestHead head_;
    RequestFacts facts_;
};

TEST_F(MetaVariablesOf, TellsWhatTheRfcNames) {
    facts_.query = "x=1&y";
    facts_.path_info = "/a b";
    facts_.path_translated = "/srv/a b";
    facts_.content_length = 5;
    head_.add_field("Content-Type", "text/plain");
    EXPECT_EQ(value("GATEWAY_INTERFACE"), "CGI/1.1");
    EXPECT_EQ(value("REQUEST_METHOD"), "GET");
    EXPECT_EQ(value("SERVER_PROTOCOL"), "HTTP/1.1");
    EXPECT_EQ(value("SERVER_NAME"), "a.example");
    EXPECT_EQ(value("SERVER_PORT"), "8080");
    EXPECT_EQ(value("SCRIPT_NAME"), "/cgi-bin/x");
    EXPECT_EQ(value("PATH_INFO"), "/a b");
    EXPECT_EQ(value("PATH_TRANSLATED"), "/srv/a b");
    EXPECT_EQ(value("QUERY_STRING"), "x=1&y");
    EXPECT_EQ(value("REMOTE_ADDR"), "192.0.2.1");
    EXPECT_EQ(value("REMOTE_PORT"), "5000");
    EXPECT_EQ(value("CONTENT_LENGTH"), "5");
    EXPECT_EQ(value("CONTENT_TYPE"), "text/plain");
    EXPECT_EQ(value("HTTP_HOST"), "a.example:8080");
    EXPECT_FALSE(has("HTTPS"));
    EXPECT_FALSE(has("HTTP_CONTENT_TYPE"));
}

TEST_F(MetaVariablesOf, PortsFollowTheScheme) {
    facts_.authority = "[::1]";
    EXPECT_EQ(value("SERVER_PORT"), "80");
    EXPECT_EQ(value("SERVER_NAME"), "[::1]");
    facts_.secure = true;
    EXPECT_EQ(value("SERVER_PORT"), "443");
    EXPECT_EQ(value("HTTPS"), "on");
    facts_.authority = "";
    EXPECT_EQ(value("SERVER_NAME"), "localhost");
    EXPECT_TRUE(has("QUERY_STRING"));
}

TEST_F(MetaVariablesOf, FieldsThatCouldPassForOthersAreDropped) {
    head_.add_field("Proxy", "http://evil.example");
    head_.add_field("X_Real_Ip", "127.0.0.1");
    head_.add_field("X-Real-Ip", "192.0.2.7");
    head_.add_field("X.Dot", "1");
    head_.add_field("Connection", "close");
    head_.add_field("Transfer-Encoding", "chunked");
    head_.add_field("Host", "other.example");
    EXPECT_FALSE(has("HTTP_PROXY"));
    EXPECT_EQ(value("HTTP_X_REAL_IP"), "192.0.2.7");
    EXPECT_FALSE(has("HTTP_X.DOT"));
    EXPECT_FALSE(has("HTTP_CONNECTION"));
    EXPECT_FALSE(has("HTTP_TRANSFER_ENCODING"));
    EXPECT_EQ(value("HTTP_HOST"), "a.example:8080");
}

TEST_F(MetaVariablesOf, RepeatedFieldsAreOneVariable) {
    head_.add_field("X-A", "1");
    head_.add_field("Cookie", "a=1");
    head_.add_field("x-a", "2");
    head_.add_field("Cookie", "b=2");
    EXPECT_EQ(value("HTTP_X_A"), "1, 2");
    EXPECT_EQ(value("HTTP_COOKIE"), "a=1; b=2");
}

TEST_F(MetaVariablesOf, APasswordThatTheServerAskedForStaysHere) {
    head_.add_field("Authorization", "Basic eDp5");
    EXPECT_EQ(value("HTTP_AUTHORIZATION"), "Basic eDp5");
    facts_.remote_user = "x";
    EXPECT_FALSE(has("HTTP_AUTHORIZATION"));
    EXPECT_EQ(value("REMOTE_USER"), "x");
    EXPECT_EQ(value("AUTH_TYPE"), "Basic");
}

// A program must not see by which of the two ways it was called.
TEST_F(MetaVariablesOf, AreTheSameForFastCgi) {
    facts_.query = "x=1";
    facts_.content_length = 5;
    head_.add_field("Content-Type", "text/plain");
    head_.add_field("X-Some-9-name", "1");
    head_.add_field("x-some-9-Name", "2");
    FcgiParams params;
    params.begin(1);
    add_meta_variables(params, facts_);
    const ByteView written = params.end(FcgiParams::Input::follows);
    const ByteView pairs = written.substr(24, written.size() - 32);
    const MetaVariables all = make_meta_variables(facts_);
    std::string expected;
    for (std::size_t i = 0; i < all.size(); ++i) {
        // All of them are so short that a length is one byte.
        expected += static_cast<char>(all[i].name.size());
        expected += static_cast<char>(all[i].value.size());
        expected.append(all[i].name).append(all[i].value);
    }
    EXPECT_EQ(pairs, expected);
    EXPECT_EQ(value("HTTP_X_SOME_9_NAME"), "1, 2");
}

TEST_F(MetaVariablesOf, EnvironmentIsWhatExecveTakes) {
    MetaVariables all = make_meta_variables(facts_);
    const auto pointers = all.environment();
    ASSERT_EQ(pointers.size(), all.size() + 1);
    EXPECT_EQ(pointers.back(), nullptr);
    EXPECT_STREQ(pointers[0], "GATEWAY_INTERFACE=CGI/1.1");
}

}  // namespace
}  // namespace tiderace::http::wire::cgi
