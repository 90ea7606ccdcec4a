#include "tiderace/http/access_log.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <regex>

#include "tiderace/http/site_loop.h"
#include "tiderace/log/doorbell.h"
#include "tiderace/log/ring_fixture.h"
#include "tiderace/testing/fake_world.h"
#include "tiderace/testing/recorded_exchange.h"

namespace tiderace::http {
namespace {

using testing::RecordedExchange;

constexpr UnixSeconds november = 1'795'248'000;  // 2026-11-21 08:00:00 UTC

class RingAccessLogTest : public ::testing::Test {
  protected:
    std::string line_of(AccessLogFormat format, std::string_view target,
                        RecordedExchange::Fields fields = {}, std::string_view method = "GET",
                        AccessLogRules rules = {}) {
        fields.emplace_back("X-Request-Id", "4bf92f3577b34da6a3ce929d0e0e4736");
        const auto exchange =
            core::make_ref<RecordedExchange>(world_.loop(), method, target, std::move(fields));
        exchange->trust_request_id();
        RingAccessLog log(ring_, format, rules);
        log.write({.request = &exchange->request(),
                   .status = 200,
                   .body_bytes = 612,
                   .received_bytes = 7,
                   .duration = 41'900ns,
                   .when = november,
                   .matched = &matched_});
        ring_.publish();
        return taken();
    }
    std::string taken() { return log::take_all(ring_); }
    Matched matched_{"/{a}/\"", 0, "a.example"};

    testing::FakeWorld world_;
    log::Doorbell bell_;
    log::Ring ring_{64_KiB, bell_};
};

// The pattern with which a program reads such logs.
std::vector<std::string> read_back(const std::string& line, bool combined) {
    static const std::string quoted = R"re("((?:[^"\\]|\\.)*)")re";
    const std::regex form(R"re((\S+) - - \[([^\]]+)\] )re" + quoted + R"re( (\d{3}) (\d+))re" +
                          (combined ? " " + quoted + " " + quoted : "") + "\n");
    std::smatch parts;
    if (!std::regex_match(line, parts, form)) return {};
    return {parts.begin() + 1, parts.end()};
}

TEST_F(RingAccessLogTest, CommonReadsBack) {
    const std::string line = line_of(AccessLogFormat::common, "/a.css?v=1", {{"User-Agent", "x"}});
    EXPECT_EQ(read_back(line, false),
              (std::vector<std::string>{"::", "21/Nov/2026:08:00:00 +0000",
                                        "GET /a.css?v=1 HTTP/1.1", "200", "612"}));
}

TEST_F(RingAccessLogTest, CombinedReadsBackWithADashForWhatIsMissing) {
    EXPECT_EQ(read_back(line_of(AccessLogFormat::combined, "/",
                                {{"Referer", "http://a/"}, {"User-Agent", "tide 1.0"}}),
                        true),
              (std::vector<std::string>{"::", "21/Nov/2026:08:00:00 +0000", "GET / HTTP/1.1", "200",
                                        "612", "http://a/", "tide 1.0"}));
    EXPECT_THAT(line_of(AccessLogFormat::combined, "/"), ::testing::EndsWith(" \"-\" \"-\"\n"));
}

TEST_F(RingAccessLogTest, JsonHasAllOfItAndLeavesOutWhatIsMissing) {
    EXPECT_EQ(line_of(AccessLogFormat::json, "/a?b",
                      {{"Referer", "http://a/"}, {"User-Agent", "tide 1.0"}}),
              R"({"time":"2026-11-21T08:00:00Z","request_id":"4bf92f3577b34da6a3ce929d0e0e4736",)"
              R"("peer":"::",)"
              R"("method":"GET","target":"/a?b","version":"HTTP/1.1","host":"localhost",)"
              R"("status":200,"route":"/{a}/\"","bytes":612,)"
              R"("duration_us":41,"referer":"http://a/","user_agent":"tide 1.0"})"
              "\n");
    EXPECT_THAT(line_of(AccessLogFormat::json, "/"), ::testing::EndsWith("\"duration_us\":41}\n"));
}

struct Injection {
    const char* name;
    std::string sent;
};

class EachInjection : public RingAccessLogTest, public ::testing::WithParamInterface<Injection> {};

INSTANTIATE_TEST_SUITE_P(
    Table, EachInjection,
    ::testing::Values(Injection{"quote", "\" 200 1 \"-\" \"-"}, Injection{"backslash", "\\"},
                      Injection{"line_feed", "a\nb"}, Injection{"carriage_return", "a\rb"},
                      Injection{"terminal_sequence", "\x1b[2J\x1b]0;title\x07"},
                      Injection{"c1_control", "\xc2\x9b 2J"}, Injection{"nul", {"a\0b", 3}},
                      Injection{"not_utf8", "\xff\xc0\xaf"}, Injection{"script", "<script>"},
                      Injection{"tab_and_delete", "\t\x7f"}),
    [](const auto& row) { return row.param.name; });

TEST_P(EachInjection, ForgesNothingInAnyFormat) {
    for (const auto format :
         {AccessLogFormat::common, AccessLogFormat::combined, AccessLogFormat::json}) {
        const std::string& sent = GetParam().sent;
        const std::string line =
            line_of(format, "/" + sent, {{"Referer", sent}, {"User-Agent", sent}});
        EXPECT_EQ(std::count(line.begin(), line.end(), '\n'), 1);
        EXPECT_EQ(line.back(), '\n');
        for (const char byte : line.substr(0, line.size() - 1)) {
            EXPECT_TRUE(byte >= 0x20 && byte < 0x7f) << static_cast<int>(byte);
        }
        if (format == AccessLogFormat::json) {
            EXPECT_TRUE(std::regex_match(
                line, std::regex(R"re(\{("[a-z_]+":("([^"\\]|\\.)*"|\d+),?)+\}\n)re")))
                << line;
        } else {
            const bool combined = format == AccessLogFormat::combined;
            EXPECT_EQ(read_back(line, combined).size(), combined ? 7U : 5U) << line;
        }
    }
}

TEST_F(RingAccessLogTest, LongTextsAreCutAndTheLineStaysWholeHoweverMuchIsEscaped) {
    for (const std::string& unit : {std::string("x"), std::string("\x01"), std::string("\xff"),
                                    std::string("\""), std::string("\xc3\xa9")}) {
        std::string text;
        while (text.size() < 4 * RingAccessLog::text_bytes_max) text += unit;
        for (const auto format :
             {AccessLogFormat::common, AccessLogFormat::combined, AccessLogFormat::json}) {
            const std::string line =
                line_of(format, "/" + text, {{"Referer", text}, {"User-Agent", text}});
            EXPECT_LE(line.size(), RingAccessLog::line_bytes_max);
            EXPECT_GT(line.size(), RingAccessLog::text_bytes_max / 2);
            const std::string_view end = format == AccessLogFormat::json       ? "\"}\n"
                                         : format == AccessLogFormat::combined ? "\"\n"
                                                                               : " 200 612\n";
            EXPECT_THAT(line, ::testing::EndsWith(std::string(end))) << line.size();
        }
    }
}

TEST_F(RingAccessLogTest, TheTimeIsRenderedAnewWhenTheSecondIsAnother) {
    const auto exchange = core::make_ref<RecordedExchange>(world_.loop(), "GET", "/");
    RingAccessLog log(ring_, AccessLogFormat::common);
    for (const UnixSeconds second : {november, november, november + 1, november - 86'400 * 60}) {
        log.write({.request = &exchange->request(), .status = 204, .when = second});
    }
    ring_.publish();
    const std::string text = taken();
    EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 4);
    EXPECT_THAT(text, ::testing::HasSubstr("[21/Nov/2026:08:00:01 +0000]"));
    EXPECT_THAT(text, ::testing::HasSubstr("[22/Sep/2026:08:00:00 +0000]"));
}

TEST_F(RingAccessLogTest, AFullRingDropsWholeLinesAndCountsThem) {
    log::Ring small(32_KiB, bell_);
    RingAccessLog log(small, AccessLogFormat::common);
    const std::string long_target = "/" + std::string(900, 'x');
    const auto exchange = core::make_ref<RecordedExchange>(world_.loop(), "GET", long_target);
    for (int i = 0; i < 100; ++i) log.write({.request = &exchange->request(), .status = 200});
    small.publish();
    EXPECT_GT(small.dropped(), 0U);
    EXPECT_LT(small.dropped(), 100U);
    std::size_t lines = 0;
    while (!small.empty()) {
        const ByteView piece = small.readable(small.published());
        EXPECT_EQ(piece.back(), '\n');
        lines += static_cast<std::size_t>(std::count(piece.begin(), piece.end(), '\n'));
        small.consume(piece.size());
    }
    EXPECT_EQ(lines + small.dropped(), 100U);
    log.write({.request = &exchange->request(), .status = 200});  // there is room again
    small.publish();
    EXPECT_FALSE(small.empty());
}

std::uint32_t bits_of(std::initializer_list<LogField> fields) {
    std::uint32_t bits = 0;
    for (const LogField field : fields) bits |= bit_of(field);
    return bits;
}

TEST_F(RingAccessLogTest, JsonHasTheFieldsThatWereChosen) {
    using enum LogField;
    const AccessLogRules rules{.fields =
                                   bits_of({site, path, query, tls, route, bytes_in, referer})};
    EXPECT_EQ(line_of(AccessLogFormat::json, "/a?b=1", {}, "GET", rules),
              R"({"site":"a.example","path":"/a","query":"b=1","route":"/{a}/\"","bytes_in":7})"
              "\n");
    EXPECT_EQ(line_of(AccessLogFormat::json, "/a", {}, "GET", {.fields = bit_of(status)}),
              "{\"status\":200}\n");
    EXPECT_EQ(log_field_names()[static_cast<std::size_t>(user_agent)], "user_agent");
}

TEST_F(RingAccessLogTest, OfARedactedQueryOnlyTheNamesAreKept) {
    AccessLogRules rules{.redacts_query = true};
    const RecordedExchange::Fields from{{"Referer", "http://a/?token=secret&b"}};
    for (const auto format : {AccessLogFormat::combined, AccessLogFormat::json}) {
        const std::string line = line_of(format, "/a=1?user=ann&p=se;x=cr&et", from, "GET", rules);
        EXPECT_THAT(line, ::testing::HasSubstr("/a=1?user=&p=;x=&et"));
        EXPECT_THAT(line, ::testing::HasSubstr("http://a/?token=&b\""));
    }
    rules.fields = bits_of({LogField::target, LogField::query});
    EXPECT_EQ(line_of(AccessLogFormat::json, "/?a=b=c?d&e=f", {}, "GET", rules),
              "{\"target\":\"/?a=&e=\",\"query\":\"a=&e=\"}\n");
    const std::string endless = "/?" + std::string(5'000, 'x');
    EXPECT_LT(line_of(AccessLogFormat::json, endless, {}, "GET", rules).size(), 2'100U);
}

TEST_F(RingAccessLogTest, OfThinnedStatusesAPartIsKept) {
    const auto exchange = core::make_ref<RecordedExchange>(world_.loop(), "GET", "/");
    const auto lines = [&](double part) {
        RingAccessLog log(ring_, AccessLogFormat::common,
                          {.thinned = 1 << 2 | 1 << 3, .kept_of_thinned = part});
        for (int i = 0; i < 100; ++i) {
            for (const int status : {200, 304, 404}) {
                log.write({.request = &exchange->request(), .status = status});
            }
        }
        ring_.publish();
        const std::string text = taken();
        return std::count(text.begin(), text.end(), '\n');
    };
    EXPECT_EQ(lines(0), 100);
    EXPECT_EQ(lines(1), 300);
    EXPECT_EQ(lines(0.25), 150);
    EXPECT_EQ(lines(0.1), 120);
    EXPECT_EQ(lines(0.005), 101);
}

TEST_F(RingAccessLogTest, SlowRequestsAreFewLinesASecondAndTheOthersANumber) {
    const auto exchange = core::make_ref<RecordedExchange>(world_.loop(), "POST", "/a?secret");
    log::SystemTime time;
    log::Logger log(ring_, time);
    SlowLog slow;
    const AccessRecord record{.request = &exchange->request(),
                              .status = 200,
                              .duration = 2'345ms,
                              .when = november,
                              .matched = &matched_};
    for (int i = 0; i < 25; ++i) slow.write(&log, record);
    slow.write(nullptr, record);
    std::string text = taken();
    EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 10);
    EXPECT_THAT(text, ::testing::HasSubstr("warning http: a request was slow request_id="));
    EXPECT_THAT(text, ::testing::HasSubstr("method=POST path=/a site=a.example route="));
    EXPECT_THAT(text, ::testing::EndsWith(" status=200 duration_ms=2345 left_out=0\n"));
    AccessRecord next = record;
    next.when += 1;
    next.matched = nullptr;
    slow.write(&log, next);
    EXPECT_THAT(taken(), ::testing::EndsWith(" left_out=15\n"));
}

TEST_F(RingAccessLogTest, NothingIsSeenBeforeItIsPublished) {
    const auto exchange = core::make_ref<RecordedExchange>(world_.loop(), "GET", "/");
    RingAccessLog log(ring_, AccessLogFormat::common);
    log.write({.request = &exchange->request(), .status = 200});
    EXPECT_TRUE(ring_.empty());
    ring_.publish();
    EXPECT_FALSE(ring_.empty());
}

}  // namespace
}  // namespace tiderace::http
