#include "tiderace/http/wire/h2/request.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "tiderace/base/random.h"
#include "tiderace/http/wire/field_syntax.h"
#include "tiderace/http/wire/framing.h"
#include "tiderace/http/wire/h2/literal_fields_fixture.h"

namespace tiderace::http::wire {
namespace {

using namespace std::string_literals;
using RequestStatus = H2RequestParse::Status;

Fields operator+(Fields fields, const Fields& more) {
    fields.insert(fields.end(), more.begin(), more.end());
    return fields;
}

const Fields get = {
    {":method", "GET"}, {":scheme", "https"}, {":authority", "a.example"}, {":path", "/p?q"}};
const Fields post = {
    {":method", "POST"}, {":scheme", "https"}, {":authority", "a.example"}, {":path", "/p"}};

class H2RequestTest : public ::testing::Test {
  protected:
    const H2RequestParse& read(const std::string& block) {
        arena.assign(h2_arena_bytes(limits, decoder), '!');
        parse = parse_h2_request(decoder, block, arena, limits, head);
        EXPECT_LE(parse.arena_used, arena.size());
        return parse;
    }
    const H2RequestParse& read(const Fields& fields) { return read(block_of(fields)); }
    Refusal refusal(const Fields& fields) {
        read(fields);
        EXPECT_EQ(parse.status, parse.refusal == Refusal::none ? RequestStatus::complete
                                                               : RequestStatus::refused);
        return parse.refusal;
    }
    Refusal trailer_refusal(const Fields& fields) {
        arena.assign(h2_arena_bytes(limits, decoder), '!');
        parse = parse_h2_trailers(decoder, block_of(fields), arena, limits, head);
        return parse.refusal;
    }
    ByteView value(FieldName name) const {
        const Field* field = head.find(name);
        return field == nullptr ? ByteView("(none)") : field->value;
    }

    H2RequestLimits limits;
    HpackDecoder decoder;
    RequestHead head;
    H2RequestParse parse;
    std::vector<char> arena;
};

TEST_F(H2RequestTest, LooksAsIfItHadComeInHttp1) {
    ASSERT_EQ(refusal(get + Fields{{"accept", "text/html"}, {"x-own", "1"}, {"te", "Trailers"}}),
              Refusal::none);
    EXPECT_EQ(head.method(), Method::get);
    EXPECT_EQ(head.method_text(), "GET");
    EXPECT_EQ(head.target(), "/p?q");
    EXPECT_EQ(head.target_form(), TargetForm::origin);
    EXPECT_EQ(head.target_authority(), "a.example");
    EXPECT_EQ(head.version_minor(), 1);
    EXPECT_EQ(value(FieldName::host), "a.example");
    EXPECT_EQ(value(FieldName::accept), "text/html");
    EXPECT_EQ(head.find("x-own")->value, "1");
    EXPECT_EQ(head.fields().size(), 4U);
    EXPECT_EQ(parse.scheme, "https");
    EXPECT_EQ(parse.protocol, "");
    EXPECT_EQ(parse.content_length, std::nullopt);
    EXPECT_FALSE(parse.expect_continue);
}

TEST_F(H2RequestTest, PseudoFieldsMayComeInAnyOrderButFirst) {
    for (std::size_t first = 0; first < get.size(); ++first) {
        Fields fields = get;
        std::rotate(fields.begin(), fields.begin() + static_cast<std::ptrdiff_t>(first),
                    fields.end());
        EXPECT_EQ(refusal(fields), Refusal::none);
        fields.insert(fields.end() - 1, {"accept", "x"});
        EXPECT_EQ(refusal(fields), Refusal::bad_pseudo_field);
    }
}

TEST_F(H2RequestTest, PseudoFieldsComeOnceAndAreThoseOfARequest) {
    for (const auto& [name, pseudo_value] : get) {
        EXPECT_EQ(refusal(get + Fields{{name, pseudo_value}}), Refusal::bad_pseudo_field) << name;
    }
    for (const char* name : {":status", ":", ":Path", ":foo", ":protocol"}) {
        EXPECT_EQ(refusal(get + Fields{{name, "200"}}), Refusal::bad_pseudo_field) << name;
    }
    for (std::size_t missing = 0; missing < get.size(); ++missing) {
        Fields fields = get;
        fields.erase(fields.begin() + static_cast<std::ptrdiff_t>(missing));
        const bool host = get[missing].first == ":authority";
        EXPECT_EQ(refusal(fields), host ? Refusal::missing_host : Refusal::bad_pseudo_field);
    }
    EXPECT_EQ(refusal({}), Refusal::bad_pseudo_field);
}

TEST_F(H2RequestTest, ValuesOfPseudoFieldsAreWhatTheyMayBe) {
    struct Case {
        const char* name;
        std::string value;
        Refusal refusal;
    };
    const Case cases[] = {
        {":method", "", Refusal::bad_pseudo_field},
        {":method", "GE T", Refusal::bad_pseudo_field},
        {":method", "get", Refusal::none},  // another method, which the server answers with 501
        {":method", std::string(32, 'M'), Refusal::none},
        {":method", std::string(33, 'M'), Refusal::method_too_long},
        {":scheme", "", Refusal::bad_pseudo_field},
        {":scheme", "1http", Refusal::bad_pseudo_field},
        {":scheme", "ht tp", Refusal::bad_pseudo_field},
        {":scheme", "coap+tcp", Refusal::none},
        {":path", "", Refusal::bad_target},
        {":path", "p", Refusal::bad_target},
        {":path", "*", Refusal::bad_target},  // with OPTIONS only
        {":path", "/a b", Refusal::bad_target},
        {":path", "/a#b", Refusal::bad_target},
        {":path", "/a\x80", Refusal::bad_target},
        {":path", "https://a.example/", Refusal::bad_target},
        {":path", " /", Refusal::bad_field_value},
        {":path", "/ ", Refusal::bad_field_value},
        {":path", "/a\nb", Refusal::bare_lf},
        {":path", "/a\rb", Refusal::bare_cr},
        {":path", "/a\0b"s, Refusal::nul},
        {":path", "/" + std::string(8191, 'a'), Refusal::none},
        {":path", "/" + std::string(8192, 'a'), Refusal::target_too_long},
        {":authority", "", Refusal::bad_host},
        {":authority", ":80", Refusal::bad_host},
        {":authority", "u@a", Refusal::bad_host},
        {":authority", "a b", Refusal::bad_host},
        {":authority", "a:80", Refusal::none},
        {":authority", "[::1]:80", Refusal::none},
    };
    for (const Case& c : cases) {
        Fields fields = get;
        for (auto& [name, given] : fields) {
            if (name == c.name) given = c.value;
        }
        EXPECT_EQ(refusal(fields), c.refusal) << c.name << ' ' << c.value.substr(0, 20);
    }
}

TEST_F(H2RequestTest, TheAsteriskIsForOptions) {
    const Fields options = {
        {":method", "OPTIONS"}, {":scheme", "http"}, {":authority", "a"}, {":path", "*"}};
    ASSERT_EQ(refusal(options), Refusal::none);
    EXPECT_EQ(head.target_form(), TargetForm::asterisk);
}

TEST_F(H2RequestTest, HostAndAuthorityAreOneHost) {
    struct Case {
        const char* authority;
        const char* host;
        Refusal refusal;
    };
    const Case cases[] = {
        {"a.example", "A.Example", Refusal::none},
        {"a:8080", "a:8080", Refusal::none},
        {"a", "a:443", Refusal::none},
        {"a:443", "a", Refusal::none},
        {"a", "a:80", Refusal::two_hosts},
        {"a", "b", Refusal::two_hosts},
        {"a", "", Refusal::two_hosts},
        {"a:8080", "a", Refusal::two_hosts},
        {nullptr, "a", Refusal::none},
        {nullptr, "", Refusal::bad_host},
        {nullptr, "a b", Refusal::bad_host},
        {nullptr, ":1", Refusal::bad_host},
        {nullptr, nullptr, Refusal::missing_host},
    };
    for (const Case& c : cases) {
        Fields fields = {{":method", "GET"}, {":scheme", "https"}, {":path", "/"}};
        if (c.authority != nullptr) fields.emplace_back(":authority", c.authority);
        if (c.host != nullptr) fields.emplace_back("host", c.host);
        EXPECT_EQ(refusal(fields), c.refusal) << (c.authority == nullptr ? "-" : c.authority) << ' '
                                              << (c.host == nullptr ? "-" : c.host);
    }
    EXPECT_EQ(refusal(get + Fields{{"host", "a.example"}, {"host", "a.example"}}),
              Refusal::duplicate_host);
    EXPECT_EQ(refusal(get + Fields{{"host", "a.example"}}), Refusal::none);
    EXPECT_EQ(head.fields().size(), 1U);
}

TEST_F(H2RequestTest, FieldsAboutAConnectionAreRefused) {
    for (const char* name :
         {"connection", "keep-alive", "proxy-connection", "transfer-encoding", "upgrade"}) {
        EXPECT_EQ(refusal(get + Fields{{name, "x"}}), Refusal::connection_field) << name;
        EXPECT_EQ(trailer_refusal({{name, "x"}}), Refusal::connection_field) << name;
    }
    EXPECT_EQ(refusal(get + Fields{{"te", "gzip"}}), Refusal::connection_field);
    EXPECT_EQ(refusal(get + Fields{{"te", "trailers, gzip"}}), Refusal::connection_field);
    EXPECT_EQ(refusal(get + Fields{{"te", "trailers"}}), Refusal::none);
}

TEST_F(H2RequestTest, EveryByteOfNamesAndValuesIsJudgedAsInHttp1) {
    for (int byte = 0; byte < 256; ++byte) {
        const char c = static_cast<char>(byte);
        const bool name_byte = is(token_byte, c) && !(c >= 'A' && c <= 'Z');
        EXPECT_EQ(refusal(get + Fields{{"x"s + c, "v"}}) == Refusal::none, name_byte) << byte;
        EXPECT_EQ(refusal(get + Fields{{"x", "v"s + c + "v"}}) == Refusal::none, is(value_byte, c))
            << byte;
    }
    EXPECT_EQ(refusal(get + Fields{{"Host", "a"}}), Refusal::bad_field_name);
    EXPECT_EQ(refusal(get + Fields{{"", "a"}}), Refusal::bad_field_name);
    EXPECT_EQ(refusal(get + Fields{{"x", " a"}}), Refusal::bad_field_value);
    EXPECT_EQ(refusal(get + Fields{{"x", "a\t"}}), Refusal::bad_field_value);
}

TEST_F(H2RequestTest, CrumbsOfACookieAreJoined) {
    ASSERT_EQ(
        refusal(get +
                Fields{{"cookie", "a=1"}, {"accept", "x"}, {"cookie", "b=2"}, {"cookie", "c=3"}}),
        Refusal::none);
    EXPECT_EQ(value(FieldName::cookie), "a=1; b=2; c=3");
    EXPECT_FALSE(head.repeated(FieldName::cookie));
    EXPECT_EQ(head.fields().size(), 3U);  // with Host
    EXPECT_EQ(refusal(get + Fields{{"cookie", ""}, {"cookie", "b=2"}, {"cookie", ""}}),
              Refusal::none);
    EXPECT_EQ(value(FieldName::cookie), "b=2");
    EXPECT_EQ(refusal(get + Fields{{"cookie", "a=1"}}), Refusal::none);
    EXPECT_EQ(value(FieldName::cookie), "a=1");
}

TEST_F(H2RequestTest, CrumbsAreBoundedInNumberAndBytes) {
    Fields fields = get;
    fields.resize(get.size() + h2_crumbs_max, {"cookie", "a=1"});
    EXPECT_EQ(refusal(fields), Refusal::none);
    EXPECT_EQ(value(FieldName::cookie).size(), h2_crumbs_max * 5 - 2);
    fields.emplace_back("cookie", "a=1");
    EXPECT_EQ(refusal(fields), Refusal::too_many_fields);
    // As large as a list can be: the joined text still has its place.
    fields = get;
    fields.resize(get.size() + 3, {"cookie", std::string(limits.list_bytes_max / 3 - 120, 'c')});
    EXPECT_EQ(refusal(fields), Refusal::none);
    EXPECT_GT(value(FieldName::cookie).size(), limits.list_bytes_max - 400);
}

TEST_F(H2RequestTest, LengthAndExpectationAreReadAsInHttp1) {
    struct Case {
        Fields fields;
        Refusal refusal;
        std::optional<std::uint64_t> length;
    };
    const Case cases[] = {
        {{}, Refusal::none, std::nullopt},
        {{{"content-length", "0"}}, Refusal::none, 0},
        {{{"content-length", "12"}}, Refusal::none, 12},
        {{{"content-length", "012"}}, Refusal::bad_length, {}},
        {{{"content-length", "+1"}}, Refusal::bad_length, {}},
        {{{"content-length", "1, 1"}}, Refusal::bad_length, {}},
        {{{"content-length", ""}}, Refusal::bad_length, {}},
        {{{"content-length", "9223372036854775808"}}, Refusal::length_overflow, {}},
        {{{"content-length", "1"}, {"content-length", "1"}}, Refusal::duplicate_length, {}},
        {{{"expect", "100-continue"}}, Refusal::none, std::nullopt},
        {{{"expect", "tea"}}, Refusal::unknown_expectation, {}},
    };
    for (const Case& c : cases) {
        EXPECT_EQ(refusal(post + c.fields), c.refusal);
        if (c.refusal != Refusal::none) continue;
        EXPECT_EQ(parse.content_length, c.length);
        EXPECT_EQ(parse.expect_continue, head.has(FieldName::expect));
    }
}

TEST_F(H2RequestTest, ConnectHasAnAuthorityAndNothingElse) {
    const Fields connect = {{":method", "CONNECT"}, {":authority", "a.example:443"}};
    ASSERT_EQ(refusal(connect), Refusal::none);
    EXPECT_EQ(head.target_form(), TargetForm::authority);
    EXPECT_EQ(head.target(), "a.example:443");
    EXPECT_EQ(refusal(connect + Fields{{":path", "/"}}), Refusal::bad_pseudo_field);
    EXPECT_EQ(refusal(connect + Fields{{":scheme", "https"}}), Refusal::bad_pseudo_field);
    for (const char* authority : {"a.example", "a.example:", "[::1]"}) {
        EXPECT_EQ(refusal({{":method", "CONNECT"}, {":authority", authority}}),
                  Refusal::bad_target);
    }
    EXPECT_EQ(refusal({{":method", "CONNECT"}, {":authority", "[::1]:1"}}), Refusal::none);
    EXPECT_EQ(refusal({{":method", "CONNECT"}}), Refusal::bad_target);
    EXPECT_EQ(refusal({{":method", "CONNECT"}, {"host", "a:1"}}), Refusal::bad_target);
}

TEST_F(H2RequestTest, ExtendedConnectNeedsTheSetting) {
    const Fields extended = {{":method", "CONNECT"},
                             {":protocol", "websocket"},
                             {":scheme", "https"},
                             {":path", "/chat"},
                             {":authority", "a.example"}};
    EXPECT_EQ(refusal(extended), Refusal::bad_pseudo_field);
    limits.extended_connect = true;
    ASSERT_EQ(refusal(extended), Refusal::none);
    EXPECT_EQ(parse.protocol, "websocket");
    EXPECT_EQ(head.method(), Method::connect);
    EXPECT_EQ(head.target(), "/chat");
    EXPECT_EQ(head.target_form(), TargetForm::origin);
    for (std::size_t missing = 2; missing < extended.size(); ++missing) {
        Fields fields = extended;
        fields.erase(fields.begin() + static_cast<std::ptrdiff_t>(missing));
        EXPECT_EQ(refusal(fields), Refusal::bad_pseudo_field) << extended[missing].first;
    }
    EXPECT_EQ(refusal(get + Fields{{":protocol", "websocket"}}), Refusal::bad_pseudo_field);
    Fields empty = extended;
    empty[1].second = "";
    EXPECT_EQ(refusal(empty), Refusal::bad_pseudo_field);
}

TEST_F(H2RequestTest, TrailersAreFieldsAlone) {
    EXPECT_EQ(trailer_refusal({{"x-sum", "1"}, {"etag", "\"a\""}}), Refusal::none);
    EXPECT_EQ(head.fields().size(), 2U);
    EXPECT_EQ(head.find("x-sum")->value, "1");
    EXPECT_EQ(trailer_refusal({}), Refusal::none);
    EXPECT_EQ(trailer_refusal({{":path", "/"}}), Refusal::bad_pseudo_field);
    EXPECT_EQ(trailer_refusal({{"x", "1"}, {":method", "GET"}}), Refusal::bad_pseudo_field);
    EXPECT_EQ(trailer_refusal({{"X", "1"}}), Refusal::bad_field_name);
    for (const char* name : {"content-length", "host", "te", "cookie"}) {
        EXPECT_EQ(trailer_refusal({{name, "1"}}), Refusal::bad_trailer) << name;
    }
}

TEST_F(H2RequestTest, FieldsAndListAreBounded) {
    limits.fields_max = 10;
    Fields fields = get;
    fields.resize(get.size() + 9, {"x", "y"});  // Host is the tenth
    EXPECT_EQ(refusal(fields), Refusal::none);
    fields.emplace_back("x", "y");
    EXPECT_EQ(refusal(fields), Refusal::too_many_fields);
    fields.emplace_back("x", "y");
    EXPECT_EQ(refusal(fields), Refusal::too_many_fields);
    EXPECT_FALSE(parse.malformed());
    fields.back().second = std::string(limits.list_bytes_max, 'y');
    EXPECT_EQ(refusal(fields), Refusal::head_too_large);
    EXPECT_FALSE(parse.malformed());
    EXPECT_EQ(trailer_refusal({{"x", std::string(limits.list_bytes_max, 'y')}}),
              Refusal::head_too_large);
    Fields many;
    many.resize(11, {"x", "y"});
    EXPECT_EQ(trailer_refusal(many), Refusal::too_many_fields);
}

TEST_F(H2RequestTest, ABadRequestLeavesTheTableInStep) {
    // Refused at its second field; the third goes into the table all the same.
    read(
        "\x82\x00\x01X\x01y\x40\x01"
        "a\x01"
        "b"s);
    EXPECT_EQ(parse.refusal, Refusal::bad_field_name);
    EXPECT_TRUE(parse.malformed());
    EXPECT_EQ(decoder.table().size(), 1U);
    EXPECT_EQ(read("\x82\x87\x84\x01\x01h\xbe"s).status, RequestStatus::complete);
    EXPECT_EQ(head.find("a")->value, "b");
}

TEST_F(H2RequestTest, CorruptionIsTheConnectionsEnd) {
    EXPECT_EQ(read("\x82\xff\xff").status, RequestStatus::compression_error);
    EXPECT_EQ(parse.refusal, Refusal::none);
    EXPECT_FALSE(parse.malformed());
    // Even when the request was refused before.
    EXPECT_EQ(read("\x00\x01X\x01y\x80"s).status, RequestStatus::compression_error);
}

// A request in its parts, some of them bad.
struct Sample {
    std::string method;
    std::string target;
    std::string host;
    Fields fields;

    std::string http1() const {
        std::string text = method + ' ' + target + " HTTP/1.1\r\nHost: " + host + "\r\n";
        for (const auto& [name, value] : fields) text += name + ": " + value + "\r\n";
        return text + "\r\n";
    }
    std::string http2() const {
        return block_of(
            Fields{
                {":method", method}, {":scheme", "http"}, {":path", target}, {":authority", host}} +
            fields);
    }
};

// Leaves out what the two versions write differently by design: line ends, space round values, and
// colons in names.
class Samples {
  public:
    explicit Samples(std::uint64_t seed) : random_(seed) {}

    Sample next() {
        Sample sample{pick({"GET", "POST", "OPTIONS", "x", "G T", ""}),
                      pick({"/", "/a?b", "*", ""}),
                      pick({"a", "a.example:80", "[::1]", "a:x", "u@a", "[::g]"}),
                      {}};
        if (random_.below(2) == 0) sample.target += bytes();
        for (std::uint64_t count = random_.below(4); count > 0; --count) {
            std::string name = pick({"accept", "x-a", "etag", "content-length", "expect"});
            if (random_.below(8) == 0) name += bytes();
            std::erase(name, ':');
            for (char& c : name) c = to_lower(c);
            sample.fields.emplace_back(name,
                                       pick({"1", "a b", "100-continue", "", bytes().c_str()}));
        }
        return sample;
    }

  private:
    std::string pick(std::initializer_list<const char*> texts) {
        return texts.begin()[random_.below(texts.size())];
    }
    std::string bytes() {
        std::string text;
        for (std::uint64_t count = random_.below(3); count > 0; --count) {
            const char c = static_cast<char>(1 + random_.below(255));
            if (c != '\r' && c != '\n' && !is_ows(c)) text += c;
        }
        return text;
    }

    Random random_;
};

TEST_F(H2RequestTest, TakesAndRefusesWhatHttp1Does) {
    Samples samples(5);
    int taken = 0;
    for (int round = 0; round < 10'000; ++round) {
        const Sample sample = samples.next();
        RequestHead http1;
        const std::string bytes = sample.http1();
        const HeadParse parsed = parse_request_head(bytes, {}, http1);
        RequestFraming framing;
        if (parsed.status == ParseStatus::complete) framing = frame_request(http1);
        const bool good =
            parsed.status == ParseStatus::complete && framing.refusal == Refusal::none;
        read(sample.http2());
        ASSERT_EQ(parse.status == RequestStatus::complete, good)
            << ::testing::PrintToString(bytes) << to_string(parse.refusal)
            << to_string(parsed.refusal) << to_string(framing.refusal);
        if (!good) continue;
        ++taken;
        EXPECT_EQ(head.method(), http1.method());
        EXPECT_EQ(head.target(), http1.target());
        EXPECT_EQ(head.target_form(), http1.target_form());
        EXPECT_EQ(parse.content_length.value_or(0), framing.length);
        ASSERT_EQ(head.fields().size(), http1.fields().size());
        for (const Field& field : http1.fields()) {
            EXPECT_EQ(head.find(field.name)->value, http1.find(field.name)->value);
        }
    }
    EXPECT_GT(taken, 500);
}

TEST(H2BodyLength, HoldsDataAgainstTheAnnouncement) {
    H2BodyLength none;
    EXPECT_TRUE(none.add(1'000'000));
    EXPECT_TRUE(none.complete());
    H2BodyLength five(5);
    EXPECT_FALSE(five.complete());
    EXPECT_TRUE(five.add(2));
    EXPECT_FALSE(five.complete());
    EXPECT_TRUE(five.add(3));
    EXPECT_TRUE(five.complete());
    EXPECT_TRUE(five.add(0));
    EXPECT_FALSE(five.add(1));
    EXPECT_EQ(five.received(), 6U);
    EXPECT_TRUE(H2BodyLength(0).complete());
}

}  // namespace
}  // namespace tiderace::http::wire
