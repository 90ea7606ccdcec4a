#include "tiderace/http/wire/cgi/fcgi_records.h"

#include <gtest/gtest.h>

#include <utility>
#include <vector>

#include "tiderace/testing/split_feed.h"

namespace tiderace::http::wire::cgi {
namespace {

using Kind = FcgiEvent::Kind;

std::string record(int type, int id, std::string_view content, int padding = 0) {
    std::string out{1, static_cast<char>(type), static_cast<char>(id >> 8), static_cast<char>(id)};
    out += static_cast<char>(content.size() >> 8);
    out += static_cast<char>(content.size());
    out += static_cast<char>(padding);
    out += '\0';
    out.append(content).append(static_cast<std::size_t>(padding), '\7');
    out[0] = 1;
    return out;
}

TEST(FcgiRecords, AreWrittenAsTheFormatSays) {
    std::string out;
    append_begin_request(out, 0x102);
    EXPECT_EQ(out, std::string("\1\1\1\2\0\x8\0\0\0\1\1\0\0\0\0\0", 16));
    out.clear();
    append_record(out, FcgiType::standard_input, 1, "abc");
    EXPECT_EQ(out, std::string("\1\5\0\1\0\3\0\0abc", 11));
    out.clear();
    append_record(out, FcgiType::standard_input, 1, {});
    EXPECT_EQ(out, std::string("\1\5\0\1\0\0\0\0", 8));
}

TEST(FcgiRecords, ParamsAreLengthsNamesAndValues) {
    MetaVariables variables;
    variables.add("A", "b");
    variables.add("LONG", std::string(200, 'x'));
    std::string out;
    append_params(out, 1, variables);
    const std::string pairs = std::string("\1\1Ab\4\x80\0\0\xc8LONG", 13) + std::string(200, 'x');
    EXPECT_EQ(out.substr(0, 8), std::string("\1\4\0\1\0\xd5\0\0", 8));
    EXPECT_EQ(out.substr(8, pairs.size()), pairs);
    EXPECT_EQ(out.substr(8 + pairs.size()), std::string("\1\4\0\1\0\0\0\0", 8));
    EXPECT_EQ(find_value(pairs, "A"), "b");
    EXPECT_EQ(find_value(pairs, "LONG").size(), 200U);
    EXPECT_EQ(find_value(pairs, "B"), "");
    for (std::size_t cut = 0; cut < pairs.size(); ++cut) {
        EXPECT_EQ(find_value(ByteView(pairs).substr(0, cut), "LONG"), "") << cut;
    }
}

TEST(FcgiRecords, ManyParamsTakeSeveralRecords) {
    MetaVariables variables;
    variables.add("A", std::string(100'000, 'x'));
    std::string out;
    append_params(out, 1, variables);
    EXPECT_EQ(out.size(), 100'000U + 6 + 5 * 8);
    // The largest that one record holds, and one byte more; and none at all.
    using Case = std::pair<std::size_t, std::size_t>;
    for (const auto& [bytes, records] : {Case(32'762, 1), Case(32'763, 2)}) {
        MetaVariables one;
        one.add("A", std::string(bytes, 'x'));
        out.clear();
        append_params(out, 1, one);
        EXPECT_EQ(out.size(), bytes + 6 + (records + 1) * 8) << bytes;
    }
    out.clear();
    append_params(out, 1, MetaVariables());
    EXPECT_EQ(out, std::string("\1\4\0\1\0\0\0\0", 8));
}

TEST(FcgiReader, GivesTheSameWhateverTheSplit) {
    const std::string answer = record(6, 1, "Status: 200\n\n", 3) + record(7, 1, "oops") +
                               record(6, 1, "body", 255) + record(6, 1, "") +
                               record(10, 0, std::string("\xf\1FCGI_MPXS_CONNS1", 18)) +
                               record(3, 1, std::string("\0\0\1\2\2\0\0\0", 8), 1);
    testing::at_every_split(answer, [&](std::span<const ByteView> pieces, const std::string& how) {
        FcgiReader reader;
        std::string output, errors, values;
        int ends = 0;
        bool ended = false;
        for (ByteView piece : pieces) {
            for (FcgiEvent event = reader.next(piece); event.kind != Kind::need_more;
                 event = reader.next(piece)) {
                ASSERT_NE(event.kind, Kind::fault) << how;
                if (event.kind == Kind::output && event.bytes.empty()) ++ends;
                if (event.kind == Kind::output) output += event.bytes;
                if (event.kind == Kind::errors) errors += event.bytes;
                if (event.kind == Kind::values) values = find_value(event.bytes, "FCGI_MPXS_CONNS");
                if (event.kind != Kind::end_request) continue;
                ended = true;
                EXPECT_EQ(event.application_status, 258U) << how;
                EXPECT_EQ(event.end, FcgiEnd::overloaded) << how;
            }
            EXPECT_TRUE(piece.empty()) << how;
        }
        EXPECT_EQ(output, "Status: 200\n\nbody") << how;
        EXPECT_EQ(errors, "oops") << how;
        EXPECT_EQ(values, "1") << how;
        EXPECT_EQ(ends, 1) << how;
        EXPECT_TRUE(ended) << how;
    });
}

// One reader takes all records of a connection, of one request after the other.
TEST(FcgiReader, KeepsNothingOfTheRecordBefore) {
    const std::string ended("\0\0\1\2\2\0\0\0", 8);
    const std::vector<std::string> all{
        record(6, 0x102, "pattern", 255),
        record(6, 2, ""),
        record(7, 3, "pattern"),
        record(3, 4, ended, 9),
        record(3, 4, ended),
        record(3, 1, std::string(8, '\0')),
        record(10, 0, "pattern", 1),
        record(10, 0, "other"),
        record(10, 0, ""),
    };
    const auto read = [](FcgiReader& reader, ByteView bytes) {
        std::string told;
        while (true) {
            const FcgiEvent event = reader.next(bytes);
            told += std::to_string(static_cast<int>(event.kind)) + ' ' + std::to_string(event.id) +
                    ' ' + std::string(event.bytes) + ' ' +
                    std::to_string(static_cast<int>(event.end)) + ' ' +
                    std::to_string(event.application_status) + ';';
            if (event.kind == Kind::need_more || event.kind == Kind::fault) return told;
        }
    };
    for (const std::string& last : all) {
        for (const std::string& next : all) {
            FcgiReader used, fresh;
            read(used, last);
            EXPECT_EQ(read(used, next), read(fresh, next)) << last << " then " << next;
        }
    }
}

TEST(FcgiReader, WhatNoApplicationSendsIsAFault) {
    for (const std::string& bad :
         {record(1, 1, "12345678"), record(5, 1, "x"), record(6, 0, "x"), record(3, 1, "1234567"),
          record(3, 0, "12345678"), record(99, 1, ""), record(10, 0, std::string(1025, 'x')),
          std::string("HTTP/1.1 200 OK\r\n\r\n")}) {
        FcgiReader reader;
        ByteView data = bad;
        EXPECT_EQ(reader.next(data).kind, Kind::fault);
        data = "more";
        EXPECT_EQ(reader.next(data).kind, Kind::fault) << "for good";
    }
}

}  // namespace
}  // namespace tiderace::http::wire::cgi
