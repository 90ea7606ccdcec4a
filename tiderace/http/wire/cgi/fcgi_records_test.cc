#include "tiderace/http/wire/cgi/fcgi_records.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
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

// The begin record of request 1, which lies in front of its variables.
const std::string begun("\1\1\0\1\0\x8\0\0\0\1\1\0\0\0\0\0", 16);
const std::string params_end("\1\4\0\1\0\0\0\0", 8);
const std::string input_end("\1\5\0\1\0\0\0\0", 8);

TEST(FcgiRecords, AreWrittenAsTheFormatSays) {
    std::string out;
    append_record(out, FcgiType::standard_input, 0x102, "abc");
    EXPECT_EQ(out, std::string("\1\5\1\2\0\3\0\0abc", 11));
    out.clear();
    append_record(out, FcgiType::standard_input, 1, {});
    EXPECT_EQ(out, input_end);
}

TEST(FcgiParamsOfARequest, AreItsStartAndLengthsNamesAndValues) {
    FcgiParams params;
    params.begin(1);
    params.add("A", "b");
    params.add("LONG", std::string(200, 'x'));
    params.add("N", 65'535U);
    params.add("NONE", ByteView());
    params.add_field("x-A-9", "c");
    const std::string out(params.end(FcgiParams::Input::follows));
    const std::string pairs = std::string("\1\1Ab\4\x80\0\0\xc8LONG", 13) + std::string(200, 'x') +
                              std::string("\1\5N65535\4\0NONE\xa\1HTTP_X_A_9c", 27);
    const std::string header("\1\4\0\1\0\xf0\0\0", 8);
    EXPECT_EQ(out, begun + header + pairs + params_end);
}

TEST(FcgiParamsOfARequest, AreFollowedByTheEndOfAnEmptyInput) {
    FcgiParams params;
    params.begin(1);
    EXPECT_EQ(params.end(FcgiParams::Input::empty), begun + params_end + input_end);
    params.begin(0x102);
    EXPECT_EQ(params.end(FcgiParams::Input::follows).substr(0, 4), std::string("\1\1\1\2", 4));
}

// One object writes all of them, whatever the size of the one before.
TEST(FcgiParamsOfARequest, TakeSeveralRecordsWhereThereAreMany) {
    FcgiParams params;
    const auto written = [&](std::size_t bytes) {
        params.begin(1);
        if (bytes > 0) params.add("A", std::string(bytes, 'x'));
        return std::string(params.end(FcgiParams::Input::empty));
    };
    const auto contents = [](ByteView out) {
        std::string pairs;
        std::size_t records = 0;
        for (out.remove_prefix(16); out.substr(0, 8) != params_end; ++records) {
            EXPECT_EQ(out.substr(0, 4), params_end.substr(0, 4));
            const auto at = [&](std::size_t i) { return static_cast<unsigned char>(out[i]); };
            const std::size_t length = static_cast<std::size_t>(at(4) << 8 | at(5));
            pairs += out.substr(8, length);
            out.remove_prefix(std::min(8 + length, out.size()));
        }
        EXPECT_EQ(out, params_end + input_end);
        // Behind the two lengths, of one and of four bytes, and the name.
        EXPECT_EQ(pairs.find_first_not_of('x', 6), std::string::npos);
        return std::pair(records, pairs.size());
    };
    // The largest that one record holds, and one byte more; and none at all.
    using Case = std::pair<std::size_t, std::size_t>;
    for (const auto& [bytes, records] :
         {Case(32'762, 1), Case(32'763, 2), Case(100'000, 4), Case(200, 1), Case(1'000'000, 31)}) {
        EXPECT_EQ(contents(written(bytes)), std::pair(records, bytes + 6)) << bytes;
    }
    EXPECT_EQ(written(0), begun + params_end + input_end);
}

TEST(FcgiReader, GivesTheSameWhateverTheSplit) {
    const std::string answer = record(6, 1, "Status: 200\n\n", 3) + record(7, 1, "oops") +
                               record(6, 1, "body", 255) + record(6, 1, "") +
                               record(3, 1, std::string("\0\0\1\2\2\0\0\0", 8), 1);
    testing::at_every_split(answer, [&](std::span<const ByteView> pieces, const std::string& how) {
        FcgiReader reader;
        std::string output, errors;
        int ends = 0;
        bool ended = false;
        for (ByteView piece : pieces) {
            for (FcgiEvent event = reader.next(piece); event.kind != Kind::need_more;
                 event = reader.next(piece)) {
                ASSERT_NE(event.kind, Kind::fault) << how;
                if (event.kind == Kind::output && event.bytes.empty()) ++ends;
                if (event.kind == Kind::output) output += event.bytes;
                if (event.kind == Kind::errors) errors += event.bytes;
                if (event.kind != Kind::end_request) continue;
                ended = true;
                EXPECT_EQ(event.application_status, 258U) << how;
                EXPECT_EQ(event.end, FcgiEnd::overloaded) << how;
            }
            EXPECT_TRUE(piece.empty()) << how;
        }
        EXPECT_EQ(output, "Status: 200\n\nbody") << how;
        EXPECT_EQ(errors, "oops") << how;
        EXPECT_EQ(ends, 1) << how;
        EXPECT_TRUE(ended) << how;
    });
}

// One reader takes all records of a connection, of one request after the other.
TEST(FcgiReader, KeepsNothingOfTheRecordBefore) {
    const std::string ended("\0\0\1\2\2\0\0\0", 8);
    const std::vector<std::string> all{
        record(6, 0x102, "pattern", 255), record(6, 2, ""),    record(7, 3, "pattern"),
        record(3, 4, ended, 9),           record(3, 4, ended), record(3, 1, std::string(8, '\0')),
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
          record(3, 0, "12345678"), record(99, 1, ""), record(10, 0, "values"),
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
