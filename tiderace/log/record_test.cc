#include "tiderace/log/record.h"

#include <gtest/gtest.h>

#include <array>
#include <limits>
#include <string>
#include <vector>

namespace tiderace::log {
namespace {

constexpr std::int64_t noon_ms = 1'795'262'400'125;  // 2026-11-21T12:00:00.125Z

std::string rendered(const Record& record, Format format) {
    std::array<char, record_bytes_max> room{};
    return std::string(room.data(), render(record, format, room));
}

TEST(Record, TimeIsIsoInUtcWithMilliseconds) {
    struct Case {
        std::int64_t unix_ms;
        std::string_view text;
    };
    const Case cases[] = {
        {0, "1970-01-01T00:00:00.000Z"},
        {noon_ms, "2026-11-21T12:00:00.125Z"},
        {951'782'399'999, "2000-02-28T23:59:59.999Z"},
        {951'782'400'000, "2000-02-29T00:00:00.000Z"},
        {253'402'300'799'999, "9999-12-31T23:59:59.999Z"},
        {-1, "1969-12-31T23:59:59.999Z"},
    };
    for (const Case& c : cases) {
        std::array<char, 24> room{};
        Line line(room);
        render_time(line, c.unix_ms);
        EXPECT_EQ(std::string(room.data(), line.size()), c.text);
    }
}

TEST(Record, AsTextQuotesValuesThatAreNoWord) {
    const std::array fields{field("peer", "192.0.2.7:50312"),
                            field("agent", "curl 8.5"),
                            field("empty", ""),
                            field("query", "a=b"),
                            field("quote", "say \"hi\""),
                            field("bytes", 1'024U),
                            field("delta", -1),
                            field("load", 0.25),
                            field("tls", false)};
    EXPECT_EQ(rendered({noon_ms, Level::warning, "net", "peer too slow", fields}, Format::text),
              "2026-11-21T12:00:00.125Z warning net: peer too slow peer=192.0.2.7:50312 "
              "agent=\"curl 8.5\" empty=\"\" query=\"a=b\" quote=\"say \\\"hi\\\"\" bytes=1024 "
              "delta=-1 load=0.25 tls=false\n");
}

TEST(Record, ForTheJournalBeginsWithTheSeverityInThePlaceOfTheTime) {
    const std::array fields{field("peer", "192.0.2.7:50312")};
    const auto line = [&](Level level) {
        return rendered({noon_ms, level, "net", "<0>peer\ntoo slow", fields}, Format::journal);
    };
    EXPECT_EQ(line(Level::warning), "<4>net: <0>peer\\ntoo slow peer=192.0.2.7:50312\n");
    EXPECT_EQ(line(Level::error).substr(0, 3), "<3>");
    EXPECT_EQ(line(Level::info).substr(0, 3), "<6>");
    EXPECT_EQ(line(Level::debug).substr(0, 3), "<7>");
    EXPECT_EQ(line(Level::trace).substr(0, 3), "<7>");
}

TEST(Record, AsJsonKeepsTypes) {
    const std::array fields{field("peer", "::1"),
                            field("agent", "caf\xc3\xa9\n"),
                            field("bytes", 1'024U),
                            field("delta", -1),
                            field("load", 0.25),
                            field("tls", true),
                            field("nan", std::numeric_limits<double>::quiet_NaN())};
    EXPECT_EQ(rendered({noon_ms, Level::info, "net", "closed", fields}, Format::json),
              R"({"time":"2026-11-21T12:00:00.125Z","level":"info","scope":"net","text":"closed",)"
              R"("peer":"::1","agent":"caf\u00e9\n","bytes":1024,"delta":-1,"load":0.25,)"
              R"("tls":true,"nan":"nan"})"
              "\n");
}

TEST(Record, NoPartOfItCanEndTheLineOrReachTheTerminal) {
    const std::string attack =
        "x\r\n2026-01-01T00:00:00.000Z error net: forged \x1b]0;owned\x07 \x9b"
        "2J\xc2\x9b\x7f";
    const std::array fields{field(attack, attack)};
    for (const Format format : {Format::text, Format::json}) {
        const std::string line = rendered({noon_ms, Level::info, attack, attack, fields}, format);
        EXPECT_EQ(line.find('\n'), line.size() - 1);
        for (std::size_t i = 0; i + 1 < line.size(); ++i) {
            ASSERT_TRUE(line[i] >= 0x20 && line[i] < 0x7f) << i;
        }
    }
}

TEST(Record, LongTextIsCutAndMarkedWithTheLineStillWhole) {
    for (const std::string& piece : {std::string(10'000, 'a'), std::string(10'000, '\x01')}) {
        for (std::size_t scope_bytes : {1U, 64U, 10'000U}) {
            for (std::size_t text_bytes : {1U, 512U, 10'000U}) {
                const ByteView view(piece);
                const std::array fields{field("first", 1), field("second", view),
                                        field("third", 3)};
                const Record record{noon_ms, Level::warning, view.substr(0, scope_bytes),
                                    view.substr(0, text_bytes), fields};
                const std::string text = rendered(record, Format::text);
                EXPECT_TRUE(text.ends_with(" first=1 truncated=true\n")) << text;
                EXPECT_LE(text.size(), record_bytes_max);
                const std::string json = rendered(record, Format::json);
                EXPECT_TRUE(json.ends_with("\",\"first\":1,\"truncated\":true}\n")) << json;
                EXPECT_LE(json.size(), record_bytes_max);
            }
        }
    }
}

TEST(Record, AnEndingFitsWhateverTheFieldsAre) {
    // One field of every length around the limit: either it is there whole, or it is left out.
    for (std::size_t length = record_bytes_max - 200; length < record_bytes_max; ++length) {
        const std::string value(length, 'v');
        const std::array fields{field("value", value)};
        const std::string line = rendered({noon_ms, Level::info, "s", "t", fields}, Format::text);
        const bool whole = line.ends_with("=" + value + "\n");
        EXPECT_NE(whole, line.ends_with("s: t truncated=true\n")) << length;
        const std::string json = rendered({noon_ms, Level::info, "s", "t", fields}, Format::json);
        const bool whole_json = json.ends_with(":\"" + value + "\"}\n");
        EXPECT_NE(whole_json, json.ends_with("\"text\":\"t\",\"truncated\":true}\n")) << length;
    }
}

}  // namespace
}  // namespace tiderace::log
