#include "tiderace/http/wire/request_head.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

namespace tiderace::http::wire {
namespace {

using namespace std::string_literals;

// Bytes in an allocation of exactly their size, so that the address sanitizer sees a look past
// them.
class Exact {
  public:
    explicit Exact(ByteView bytes) : held_(new char[bytes.size()]), size_(bytes.size()) {
        bytes.copy(held_.get(), size_);
    }
    ByteView view() const { return {held_.get(), size_}; }

  private:
    std::unique_ptr<char[]> held_;
    std::size_t size_;
};

bool inside(ByteView whole, ByteView part) {
    return part.empty() || (part.data() >= whole.data() &&
                            part.data() + part.size() <= whole.data() + whole.size());
}

// Parses the bytes grown by one byte at a time, and so cut in two at every place. Nothing but
// need_more may come before the answer, and nothing but the answer after it.
HeadParse parse_at_every_split(ByteView bytes, const HeadLimits& limits = {}) {
    RequestHead head;
    HeadParse answer{ParseStatus::need_more, 0, Refusal::none};
    for (std::size_t size = 0; size <= bytes.size(); ++size) {
        const Exact grown(bytes.substr(0, size));
        const HeadParse now = parse_request_head(grown.view(), limits, head);
        if (answer.status != ParseStatus::need_more) {
            EXPECT_EQ(now.status, answer.status) << "changed its mind at " << size;
            EXPECT_EQ(now.bytes, answer.bytes) << "at " << size;
            EXPECT_EQ(now.refusal, answer.refusal) << "changed its mind at " << size;
        }
        EXPECT_EQ(now.refusal == Refusal::none, now.status != ParseStatus::refused);
        if (now.status == ParseStatus::complete) {
            EXPECT_LE(now.bytes, size);
            for (const Field& field : head.fields()) {
                EXPECT_TRUE(inside(grown.view(), field.name));
                EXPECT_TRUE(inside(grown.view(), field.value));
            }
        }
        answer = now;
    }
    return answer;
}

struct RefusedHead {
    std::string bytes;
    Refusal refusal;
};

class HeadRefusal : public ::testing::TestWithParam<RefusedHead> {};

TEST_P(HeadRefusal, IsTheSameAtEverySplit) {
    const HeadParse parse = parse_at_every_split(GetParam().bytes);
    EXPECT_EQ(parse.status, ParseStatus::refused);
    EXPECT_EQ(to_string(parse.refusal), to_string(GetParam().refusal));
}

std::string get(const std::string& fields) {
    return "GET / HTTP/1.1\r\n" + fields + "\r\n\r\n";
}
std::string line(const std::string& request_line) {
    return request_line + "\r\nHost: a\r\n\r\n";
}

INSTANTIATE_TEST_SUITE_P(
    RequestLine, HeadRefusal,
    ::testing::Values(
        RefusedHead{"\r\n\r\nGET / HTTP/1.1\r\nHost: a\r\n\r\n", Refusal::bad_request_line},
        RefusedHead{"\nGET / HTTP/1.1\r\nHost: a\r\n\r\n", Refusal::bare_lf},
        RefusedHead{"\rGET / HTTP/1.1\r\nHost: a\r\n\r\n", Refusal::bare_cr},
        RefusedHead{line(" GET / HTTP/1.1"), Refusal::bad_request_line},
        RefusedHead{line("\tGET / HTTP/1.1"), Refusal::bad_request_line},
        RefusedHead{line("GET"), Refusal::bad_request_line},
        RefusedHead{line("GET "), Refusal::bad_version},
        RefusedHead{line("GET  / HTTP/1.1"), Refusal::bad_request_line},
        RefusedHead{line("GET\t/ HTTP/1.1"), Refusal::bad_request_line},
        RefusedHead{line("GET /\tHTTP/1.1"), Refusal::bad_request_line},
        RefusedHead{line("GET /  HTTP/1.1"), Refusal::bad_version},
        RefusedHead{line("GET / HTTP/1.1 "), Refusal::bad_version},
        RefusedHead{line("GET / HTTP/1.1\t"), Refusal::bad_version},
        RefusedHead{line("GET / a HTTP/1.1"), Refusal::bad_version},
        RefusedHead{line("G\x01T / HTTP/1.1"), Refusal::bad_request_line},
        RefusedHead{line("G(T / HTTP/1.1"), Refusal::bad_request_line},
        RefusedHead{line("G\x80T / HTTP/1.1"), Refusal::bad_request_line},
        RefusedHead{line("GET: / HTTP/1.1"), Refusal::bad_request_line},
        RefusedHead{line("G\0T / HTTP/1.1"s), Refusal::nul},
        RefusedHead{"GET\n/ HTTP/1.1\r\n\r\n", Refusal::bare_lf},
        RefusedHead{line("MKCALENDARMKCALENDARMKCALENDARMKC / HTTP/1.1"), Refusal::method_too_long},
        RefusedHead{"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03"s, Refusal::tls_handshake},
        RefusedHead{"GET / HTTP/1.1\nHost: a\n\n", Refusal::bare_lf},
        RefusedHead{"GET / HTTP/1.1\rHost: a\r\n\r\n", Refusal::bare_cr},
        RefusedHead{"GET / HTTP/1.1\r\rHost: a\r\n\r\n", Refusal::bare_cr},
        RefusedHead{"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", Refusal::unsupported_version}));

INSTANTIATE_TEST_SUITE_P(
    Target, HeadRefusal,
    ::testing::Values(RefusedHead{line("GET index.html HTTP/1.1"), Refusal::bad_target},
                      RefusedHead{line("GET /a\0b HTTP/1.1"s), Refusal::nul},
                      RefusedHead{line("GET /a#b HTTP/1.1"), Refusal::bad_target},
                      RefusedHead{line("GET /a\x7f HTTP/1.1"), Refusal::bad_target},
                      RefusedHead{line("GET /a\x01 HTTP/1.1"), Refusal::bad_target},
                      RefusedHead{line("GET /\xc3\xa9 HTTP/1.1"), Refusal::bad_target},
                      RefusedHead{"GET /a\nb HTTP/1.1\r\n\r\n", Refusal::bare_lf},
                      RefusedHead{"GET /a\rb HTTP/1.1\r\n\r\n", Refusal::bare_cr},
                      RefusedHead{line("GET * HTTP/1.1"), Refusal::bad_target},
                      RefusedHead{line("OPTIONS ** HTTP/1.1"), Refusal::bad_target},
                      RefusedHead{line("GET ?a HTTP/1.1"), Refusal::bad_target},
                      RefusedHead{line("GET example.com:80 HTTP/1.1"), Refusal::bad_target},
                      RefusedHead{line("GET http:// HTTP/1.1"), Refusal::bad_target},
                      RefusedHead{line("GET http:/// HTTP/1.1"), Refusal::bad_target},
                      RefusedHead{line("GET http:///a HTTP/1.1"), Refusal::bad_target},
                      RefusedHead{line("GET http://:80/ HTTP/1.1"), Refusal::bad_target},
                      RefusedHead{line("GET http:/a HTTP/1.1"), Refusal::bad_target},
                      RefusedHead{line("GET http://user@a/ HTTP/1.1"), Refusal::bad_target},
                      RefusedHead{line("GET http://a:b/ HTTP/1.1"), Refusal::bad_target},
                      RefusedHead{line("GET http://a\\b/ HTTP/1.1"), Refusal::bad_target},
                      RefusedHead{line("GET ftp://a/ HTTP/1.1"), Refusal::bad_target},
                      RefusedHead{line("CONNECT / HTTP/1.1"), Refusal::bad_target},
                      RefusedHead{line("CONNECT example.com HTTP/1.1"), Refusal::bad_target},
                      RefusedHead{line("CONNECT example.com: HTTP/1.1"), Refusal::bad_target},
                      RefusedHead{line("CONNECT :443 HTTP/1.1"), Refusal::bad_target},
                      RefusedHead{line("CONNECT [::1] HTTP/1.1"), Refusal::bad_target},
                      RefusedHead{line("CONNECT http://a:1/ HTTP/1.1"), Refusal::bad_target}));

INSTANTIATE_TEST_SUITE_P(
    Version, HeadRefusal,
    ::testing::Values(RefusedHead{line("GET /"), Refusal::bad_version},
                      RefusedHead{"GET /\n", Refusal::bare_lf},
                      RefusedHead{line("GET / "), Refusal::bad_version},
                      RefusedHead{line("GET / http/1.1"), Refusal::bad_version},
                      RefusedHead{line("GET / HTTP"), Refusal::bad_version},
                      RefusedHead{line("GET / HTTP/"), Refusal::bad_version},
                      RefusedHead{line("GET / HTTP/1"), Refusal::bad_version},
                      RefusedHead{line("GET / HTTP/1."), Refusal::bad_version},
                      RefusedHead{line("GET / HTTP/2"), Refusal::bad_version},
                      RefusedHead{line("GET / HTTP/.1"), Refusal::bad_version},
                      RefusedHead{line("GET / HTTP/1,1"), Refusal::bad_version},
                      RefusedHead{line("GET / HTTP/01.1"), Refusal::bad_version},
                      RefusedHead{line("GET / HTTP/1.01"), Refusal::bad_version},
                      RefusedHead{line("GET / HTTP/1.10"), Refusal::bad_version},
                      RefusedHead{line("GET / HTTP/11.1"), Refusal::bad_version},
                      RefusedHead{line("GET / HTTP/+1.1"), Refusal::bad_version},
                      RefusedHead{line("GET / HTTP/1.x"), Refusal::bad_version},
                      RefusedHead{line("GET / HTTPS/1.1"), Refusal::bad_version},
                      RefusedHead{line("GET / ICY/1.1"), Refusal::bad_version},
                      RefusedHead{line("GET / HTTP/1.\0"s), Refusal::nul},
                      RefusedHead{line("GET / HTTP/0.9"), Refusal::unsupported_version},
                      RefusedHead{line("GET / HTTP/2.0"), Refusal::unsupported_version},
                      RefusedHead{line("GET / HTTP/3.0"), Refusal::unsupported_version},
                      RefusedHead{line("GET / HTTP/9.9"), Refusal::unsupported_version}));

INSTANTIATE_TEST_SUITE_P(
    FieldLine, HeadRefusal,
    ::testing::Values(RefusedHead{get("Host: a\r\nX : b"), Refusal::space_before_colon},
                      RefusedHead{get("Host: a\r\nX\t: b"), Refusal::space_before_colon},
                      RefusedHead{get("Host : a"), Refusal::space_before_colon},
                      RefusedHead{get("Transfer-Encoding : chunked"), Refusal::space_before_colon},
                      RefusedHead{get("X: a\r\n b"), Refusal::obs_fold},
                      RefusedHead{get("X: a\r\n\tb"), Refusal::obs_fold},
                      RefusedHead{get("X: a\r\n \r\nY: b"), Refusal::obs_fold},
                      RefusedHead{get(" Host: a"), Refusal::obs_fold},
                      RefusedHead{get(": a"), Refusal::bad_field_name},
                      RefusedHead{get("Host a"), Refusal::space_before_colon},
                      RefusedHead{get("Host"), Refusal::bad_field_name},
                      RefusedHead{get("X(: a"), Refusal::bad_field_name},
                      RefusedHead{get("X\"Y: a"), Refusal::bad_field_name},
                      RefusedHead{get("X/Y: a"), Refusal::bad_field_name},
                      RefusedHead{get("X@Y: a"), Refusal::bad_field_name},
                      RefusedHead{get("X[]: a"), Refusal::bad_field_name},
                      RefusedHead{get("X\x01: a"), Refusal::bad_field_name},
                      RefusedHead{get("X\x7f: a"), Refusal::bad_field_name},
                      RefusedHead{get("\xc3\xa9: a"), Refusal::bad_field_name},
                      RefusedHead{get("X\0Y: a"s), Refusal::nul},
                      RefusedHead{get("X\rY: a"), Refusal::bad_field_name},
                      RefusedHead{get("X\nY: a"), Refusal::bare_lf},
                      RefusedHead{get("X: a\0b"s), Refusal::nul},
                      RefusedHead{get("X: a\x01"), Refusal::bad_field_value},
                      RefusedHead{get("X: a\x1b[31m"), Refusal::bad_field_value},
                      RefusedHead{get("X: a\vb"), Refusal::bad_field_value},
                      RefusedHead{get("X: a\x7f"), Refusal::bad_field_value},
                      RefusedHead{get("X: a\rb"), Refusal::bare_cr},
                      RefusedHead{get("X: a\r\rb"), Refusal::bare_cr},
                      RefusedHead{get("X: \rTransfer-Encoding: chunked"), Refusal::bare_cr},
                      RefusedHead{get("X: a\nY: b"), Refusal::bare_lf},
                      RefusedHead{"GET / HTTP/1.1\r\nX: a\n\n", Refusal::bare_lf},
                      RefusedHead{"GET / HTTP/1.1\r\nX: a\r\n\n", Refusal::bare_lf},
                      RefusedHead{"GET / HTTP/1.1\r\nX: a\r\n\rGET", Refusal::bare_cr}));

struct Accepted {
    std::string bytes;
    Method method;
    std::string target;
    TargetForm form;
    std::string authority;
    int minor;
};

class HeadAccepted : public ::testing::TestWithParam<Accepted> {};

TEST_P(HeadAccepted, IsTheSameAtEverySplit) {
    const Accepted& expected = GetParam();
    const HeadParse parse = parse_at_every_split(expected.bytes);
    ASSERT_EQ(parse.status, ParseStatus::complete) << to_string(parse.refusal);
    EXPECT_EQ(parse.bytes, expected.bytes.size());
    RequestHead head;
    parse_request_head(expected.bytes, {}, head);
    EXPECT_EQ(head.method(), expected.method);
    EXPECT_EQ(head.target(), expected.target);
    EXPECT_EQ(head.target_form(), expected.form);
    EXPECT_EQ(head.target_authority(), expected.authority);
    EXPECT_EQ(head.version_minor(), expected.minor);
}

INSTANTIATE_TEST_SUITE_P(
    Heads, HeadAccepted,
    ::testing::Values(
        Accepted{line("GET / HTTP/1.1"), Method::get, "/", TargetForm::origin, "", 1},
        Accepted{"\r\n" + line("GET / HTTP/1.1"), Method::get, "/", TargetForm::origin, "", 1},
        Accepted{line("HEAD /a/b?c=d&e HTTP/1.0"), Method::head, "/a/b?c=d&e", TargetForm::origin,
                 "", 0},
        Accepted{"GET / HTTP/1.0\r\n\r\n", Method::get, "/", TargetForm::origin, "", 0},
        Accepted{line("GET / HTTP/1.2"), Method::get, "/", TargetForm::origin, "", 1},
        Accepted{line("GET / HTTP/1.9"), Method::get, "/", TargetForm::origin, "", 1},
        Accepted{line("GET //a/../%2e\"<>\\^`{|}~ HTTP/1.1"), Method::get, "//a/../%2e\"<>\\^`{|}~",
                 TargetForm::origin, "", 1},
        Accepted{line("OPTIONS * HTTP/1.1"), Method::options, "*", TargetForm::asterisk, "", 1},
        Accepted{line("OPTIONS /a HTTP/1.1"), Method::options, "/a", TargetForm::origin, "", 1},
        Accepted{line("GET http://example.com:80/a?b HTTP/1.1"), Method::get,
                 "http://example.com:80/a?b", TargetForm::absolute, "example.com:80", 1},
        Accepted{line("GET HTTPS://[::1]?b HTTP/1.1"), Method::get, "HTTPS://[::1]?b",
                 TargetForm::absolute, "[::1]", 1},
        Accepted{line("GET http://a HTTP/1.1"), Method::get, "http://a", TargetForm::absolute, "a",
                 1},
        Accepted{line("CONNECT example.com:443 HTTP/1.1"), Method::connect, "example.com:443",
                 TargetForm::authority, "example.com:443", 1},
        Accepted{line("CONNECT [::1]:443 HTTP/1.1"), Method::connect, "[::1]:443",
                 TargetForm::authority, "[::1]:443", 1},
        Accepted{line("get / HTTP/1.1"), Method::other, "/", TargetForm::origin, "", 1},
        Accepted{line("!#$%&'*+-.^_`|~x / HTTP/1.1"), Method::other, "/", TargetForm::origin, "",
                 1},
        Accepted{line("PROPFIND / HTTP/1.1"), Method::other, "/", TargetForm::origin, "", 1}));

RequestHead parsed(const std::string& bytes, const HeadLimits& limits = {}) {
    RequestHead head;
    const HeadParse parse = parse_request_head(bytes, limits, head);
    EXPECT_EQ(parse.status, ParseStatus::complete) << to_string(parse.refusal);
    return head;
}

TEST(RequestHead, KeepsFieldsInTheirOrderAndTrimsTheirValues) {
    const std::string bytes =
        get("Host:a\r\nX-One: \t b c \t\r\nX-Empty:\r\nX-Blank: \t \r\nx-one: \xc3\xa9\r\n"
            "!#$%&'*+-.^_`|~9: v");
    parse_at_every_split(bytes);
    const RequestHead head = parsed(bytes);
    ASSERT_EQ(head.fields().size(), 6U);
    EXPECT_EQ(head.fields()[0].id, FieldName::host);
    EXPECT_EQ(head.fields()[0].value, "a");
    EXPECT_EQ(head.fields()[1].name, "X-One");
    EXPECT_EQ(head.fields()[1].value, "b c");
    EXPECT_EQ(head.fields()[2].value, "");
    EXPECT_EQ(head.fields()[3].value, "");
    EXPECT_EQ(head.fields()[4].name, "x-one");
    EXPECT_EQ(head.fields()[4].value, "\xc3\xa9");
    EXPECT_EQ(head.fields()[5].name, "!#$%&'*+-.^_`|~9");
}

TEST(RequestHead, FindsTheFirstOfANameAndKnowsThatThereAreMore) {
    const std::string bytes = get("Accept: a\r\nHost: h\r\nX-Own: 1\r\naccept: b\r\nx-OWN: 2");
    const RequestHead head = parsed(bytes);
    ASSERT_NE(head.find(FieldName::accept), nullptr);
    EXPECT_EQ(head.find(FieldName::accept)->value, "a");
    EXPECT_TRUE(head.repeated(FieldName::accept));
    EXPECT_FALSE(head.repeated(FieldName::host));
    const Field* second = head.next(*head.find(FieldName::accept));
    ASSERT_NE(second, nullptr);
    EXPECT_EQ(second->value, "b");
    EXPECT_EQ(head.next(*second), nullptr);
    EXPECT_EQ(head.find(FieldName::cookie), nullptr);
    EXPECT_FALSE(head.repeated(FieldName::cookie));

    ASSERT_NE(head.find("x-own"), nullptr);
    EXPECT_EQ(head.find("x-own")->value, "1");
    ASSERT_NE(head.next(*head.find("X-Own")), nullptr);
    EXPECT_EQ(head.next(*head.find("X-Own"))->value, "2");
    EXPECT_EQ(head.find("HOST")->value, "h");
    EXPECT_EQ(head.find("X-None"), nullptr);
}

TEST(RequestHead, UnknownNamesAreDistinguished) {
    const std::string bytes =
        get("X-A: 1\r\nHost: a\r\nX-B: 2\r\nx-a: 3\r\nX-AB: 4\r\nX-b: 5\r\nX-A: 6");
    RequestHead head;
    ASSERT_EQ(parse_request_head(bytes, {}, head).status, ParseStatus::complete);
    const auto values = [&](ByteView name) {
        std::string all;
        for (const Field* field = head.find(name); field != nullptr; field = head.next(*field)) {
            all += field->value;
        }
        return all;
    };
    EXPECT_EQ(values("X-A"), "136");
    EXPECT_EQ(values("X-B"), "25");
    EXPECT_EQ(values("X-AB"), "4");
    EXPECT_EQ(values("Host"), "a");
}

TEST(RequestHeadLimits, AMethodOfExactlyTheLimitIsTaken) {
    const std::string method(32, 'M');
    EXPECT_EQ(parse_at_every_split(line(method + " / HTTP/1.1")).status, ParseStatus::complete);
    EXPECT_EQ(parse_at_every_split(line(method + "M / HTTP/1.1")).refusal,
              Refusal::method_too_long);
    // RefusedHead as soon as it is certain, and not before.
    RequestHead head;
    EXPECT_EQ(parse_request_head(method, {}, head).status, ParseStatus::need_more);
    EXPECT_EQ(parse_request_head(method + "M", {}, head).refusal, Refusal::method_too_long);
}

TEST(RequestHead, IsUsedAgainWithoutATraceOfTheLastRequest) {
    RequestHead head;
    const std::string first = get("Host: a\r\nHost: b\r\nCookie: c\r\nX: d");
    const std::string second = "GET /2 HTTP/1.0\r\nAccept: e\r\n\r\n";
    ASSERT_EQ(parse_request_head(first, {}, head).status, ParseStatus::complete);
    ASSERT_EQ(parse_request_head(second, {}, head).status, ParseStatus::complete);
    EXPECT_EQ(head.fields().size(), 1U);
    EXPECT_FALSE(head.has(FieldName::host));
    EXPECT_FALSE(head.repeated(FieldName::host));
    EXPECT_EQ(head.find(FieldName::cookie), nullptr);
    EXPECT_EQ(head.find("X"), nullptr);
    EXPECT_EQ(head.version_minor(), 0);
}

TEST(RequestHead, EndsWhereTheNextRequestBegins) {
    const std::string first = line("GET /1 HTTP/1.1");
    const std::string both = first + line("GET /2 HTTP/1.1");
    const HeadParse parse = parse_at_every_split(both);
    EXPECT_EQ(parse.status, ParseStatus::complete);
    EXPECT_EQ(parse.bytes, first.size());
}

TEST(RequestHeadLimits, ARequestLineOfExactlyTheLimitIsTaken) {
    for (const std::string& before : {""s, "\r\n"s}) {
        const std::string request_line = "GET /" + std::string(100, 'a') + " HTTP/1.1\r\n";
        const HeadLimits exact{.request_line_bytes_max = request_line.size()};
        const std::string bytes = before + request_line + "Host: a\r\n\r\n";
        EXPECT_EQ(parse_at_every_split(bytes, exact).status, ParseStatus::complete);
        const HeadLimits less{.request_line_bytes_max = request_line.size() - 1};
        EXPECT_EQ(parse_at_every_split(bytes, less).refusal, Refusal::target_too_long);
    }
}

TEST(RequestHeadLimits, AHeadOfExactlyTheLimitIsTaken) {
    const std::string bytes = get("Host: a\r\nX: " + std::string(100, 'b'));
    const HeadLimits exact{.head_bytes_max = bytes.size()};
    EXPECT_EQ(parse_at_every_split(bytes, exact).status, ParseStatus::complete);
    EXPECT_EQ(parse_at_every_split(bytes + "more", exact).status, ParseStatus::complete);
    const HeadLimits less{.head_bytes_max = bytes.size() - 1};
    EXPECT_EQ(parse_at_every_split(bytes, less).refusal, Refusal::head_too_large);
}

TEST(RequestHeadLimits, ALongTargetIsRefusedBeforeItsEndIsSeen) {
    RequestHead head;
    const std::string bytes = "GET /" + std::string(9000, 'a');
    EXPECT_EQ(parse_request_head(bytes, {}, head).refusal, Refusal::target_too_long);
    // Also where a bad byte follows: the answer must not depend on how much has come.
    EXPECT_EQ(parse_request_head(bytes + "\x01 HTTP/1.1", {}, head).refusal,
              Refusal::target_too_long);
}

TEST(RequestHeadLimits, AsManyFieldsAsTheLimitAreTaken) {
    for (const std::size_t limit : {std::size_t{1}, std::size_t{100}, std::size_t{128}}) {
        const HeadLimits limits{.fields_max = limit};
        std::string fields = "Host: a";
        for (std::size_t i = 1; i < limit; ++i) fields += "\r\nX: b";
        EXPECT_EQ(parsed(get(fields), limits).fields().size(), limit);
        const HeadParse over = parse_at_every_split(get(fields + "\r\nX: c"), limits);
        EXPECT_EQ(over.refusal, Refusal::too_many_fields);
    }
}

TEST(RequestHeadLimits, MoreFieldsThanTheCapacityAreRefusedWhateverTheLimit) {
    std::string fields = "Host: a";
    for (std::size_t i = 1; i < RequestHead::fields_capacity; ++i) fields += "\r\nX: b";
    const HeadLimits limits{.fields_max = 1000};
    RequestHead head;
    EXPECT_EQ(parse_request_head(get(fields), limits, head).status, ParseStatus::complete);
    EXPECT_EQ(parse_request_head(get(fields + "\r\nX: c"), limits, head).refusal,
              Refusal::too_many_fields);
}

TEST(RequestHeadLimits, UnlimitedIsALimitToo) {
    const HeadLimits none{.request_line_bytes_max = SIZE_MAX, .head_bytes_max = SIZE_MAX};
    EXPECT_EQ(parse_at_every_split("\r\n" + get("Host: a"), none).status, ParseStatus::complete);
}

TEST(RequestHead, MovesWithItsBytes) {
    std::string bytes = "GET http://a.example/x HTTP/1.1\r\nHost: b\r\nX-Empty:\r\n\r\n";
    RequestHead head;
    ASSERT_EQ(parse_request_head(bytes, {}, head).status, ParseStatus::complete);
    std::string copy = bytes;
    head.rebase(copy.data() - bytes.data());
    bytes.assign(bytes.size(), '#');
    EXPECT_EQ(head.method_text(), "GET");
    EXPECT_EQ(head.target(), "http://a.example/x");
    EXPECT_EQ(head.target_authority(), "a.example");
    EXPECT_EQ(head.find(FieldName::host)->value, "b");
    EXPECT_EQ(head.fields()[1].value, "");
}

TEST(RequestHead, MovesNothingBehindTheRoomItWasLent) {
    const std::string bytes = get("Host: a\r\nX: b");
    Field room[3];
    room[2] = {"another's", "field", FieldName::other};
    const Field behind = room[2];
    RequestHead head;
    head.lend({room, 2});
    ASSERT_EQ(parse_request_head(bytes, {}, head).status, ParseStatus::complete);
    const std::string copy = bytes;
    head.rebase(copy.data() - bytes.data());
    EXPECT_EQ(room[1].value.data(), copy.data() + copy.rfind('b'));
    EXPECT_EQ(room[2].name.data(), behind.name.data());
    EXPECT_EQ(room[2].value.data(), behind.value.data());
}

}  // namespace
}  // namespace tiderace::http::wire
