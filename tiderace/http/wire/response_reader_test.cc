#include "tiderace/http/wire/response_reader.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tiderace/http/wire/field_syntax.h"

namespace tiderace::http::wire {
namespace {

using ReaderStatus = ResponseReader::Status;

// One place for each line, whose name and value stand around its colon.
void expect_places(const FieldPlaces& places, ByteView lines) {
    std::size_t line_at = 0;
    for (const FieldPlace& place : places) {
        const std::size_t end = lines.find("\r\n", line_at);
        ASSERT_NE(end, ByteView::npos);
        EXPECT_EQ(place.name_at, line_at);
        EXPECT_EQ(lines[place.name_at + place.name_bytes], ':');
        const ByteView value = lines.substr(place.value_at, place.value_bytes);
        const std::size_t colon = lines.find(':', line_at);
        EXPECT_EQ(value, trim_ows(lines.substr(colon + 1, end - colon - 1)));
        line_at = end + 2;
    }
    EXPECT_EQ(line_at, lines.size());
}

// What a client makes of the bytes: "200:body" for each response, "!fault" at a fault, "…" where
// one is unfinished.
std::string read_in_pieces(ByteView bytes, std::size_t piece, bool to_head, bool ends) {
    ResponseReader reader;
    reader.next(to_head);
    FieldPlaces places;
    std::string told;
    std::size_t used = 0;
    bool in_body = false;
    for (std::size_t end = std::min(piece, bytes.size());;) {
        const ResponseReader::Step step = reader.step(bytes.substr(used, end - used), &places);
        EXPECT_LE(step.used, end - used);
        used += step.used;
        if (step.status == ReaderStatus::head) {
            told += std::to_string(reader.start().status) + ":";
            in_body = true;
            expect_places(places, step.data);
        } else if (step.status == ReaderStatus::data) {
            EXPECT_FALSE(step.data.empty());
            told += step.data;
        } else if (step.status == ReaderStatus::trailer) {
            told +=
                '<' + std::string(step.trailer.name) + '=' + std::string(step.trailer.value) + '>';
        } else if (step.status == ReaderStatus::done) {
            told += reader.start().keep_alive ? ";" : "|";
            in_body = false;
            reader.next(to_head);
        } else if (step.status == ReaderStatus::refused) {
            return told + "!" + std::string(to_string(reader.fault()));
        } else if (end == bytes.size()) {
            break;
        } else {
            end = std::min(end + piece, bytes.size());
        }
    }
    if (!in_body && used == bytes.size()) return told;
    if (ends && reader.end_of_stream()) return told + "|";
    return told + (ends ? "!" + std::string(to_string(reader.fault())) : "…");
}

std::string read_at_every_split(const std::string& bytes, bool to_head = false, bool ends = true) {
    const std::string whole = read_in_pieces(bytes, bytes.size(), to_head, ends);
    for (std::size_t piece = 1; piece < bytes.size(); ++piece) {
        EXPECT_EQ(read_in_pieces(bytes, piece, to_head, ends), whole)
            << "pieces of " << piece << " of " << bytes;
    }
    return whole;
}

TEST(ResponseReader, ABodyWithoutALengthEndsWithItsConnection) {
    ResponseReader reader;
    reader.next(false);
    ASSERT_EQ(reader.step("HTTP/1.1 200 OK\r\n\r\n").status, ReaderStatus::head);
    EXPECT_EQ(reader.start().body, ResponseStart::Body::until_close);
    EXPECT_FALSE(reader.start().keep_alive);
}

// Names of as many letters as Content-Length, Transfer-Encoding and Connection have.
TEST(ResponseReader, AFieldThatIsAsLongAsAFramingOneFramesNothing) {
    EXPECT_EQ(
        read_at_every_split("HTTP/1.1 200 OK\r\nX-Fourteen-a-b: 3\r\nX-Seventeen-a-b-c: gzip\r\n"
                            "X-Ten-a-bc: close\r\nContent-Length: 2\r\n\r\nabHTTP/1.1 204 No "
                            "Content\r\n\r\n"),
        "200:ab;204:;");
}

TEST(ResponseReader, RefusesAStatusLineAtTheFirstByteThatIsWrong) {
    ResponseReader reader;
    reader.next(false);
    EXPECT_EQ(reader.step("HTTP/1.1 200").status, ReaderStatus::need_more);
    EXPECT_EQ(reader.step("HTTP/1.1 2000").status, ReaderStatus::refused);
}

TEST(ResponseReader, ReadsWhatServersSend) {
    const struct {
        std::string bytes;
        std::string told;
    } cases[] = {
        {"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello", "200:hello;"},
        {"HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n", "200:;"},
        {"HTTP/1.1 404\r\nContent-Length: 1\r\n\r\nx", "404:x;"},
        {"HTTP/1.1 999 Own\r\nContent-Length: 0\r\n\r\n", "999:;"},
        {"HTTP/1.1 204 \r\n\r\nHTTP/1.1 304 Not Modified\r\nContent-Length: 9\r\n\r\n",
         "204:;304:;"},
        {"HTTP/1.1 200 OK\r\nTransfer-Encoding: Chunked\r\n\r\n3\r\nabc\r\n1;x=y\r\nd\r\n"
         "0\r\nA: b\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\ne",
         "200:abcd<A=b>;200:e;"},
        {"HTTP/1.1 200 OK\r\nContent-Length: 1\r\nConnection: x, close\r\n\r\na", "200:a|"},
        {"HTTP/1.0 200 OK\r\nContent-Length: 1\r\n\r\na", "200:a|"},
        {"HTTP/1.0 200 OK\r\nContent-Length: 1\r\nConnection: keep-alive\r\n\r\na", "200:a;"},
        {"HTTP/1.0 200 OK\r\n\r\nto the end", "200:to the end|"},
        {"HTTP/1.1 200 OK\r\n\r\n", "200:|"},
        {"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early\r\nLink: x\r\n\r\n"
         "HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\na",
         "200:a;"},
    };
    for (const auto& each : cases) EXPECT_EQ(read_at_every_split(each.bytes), each.told);
}

TEST(ResponseReader, AnAnswerToHeadHasNoBody) {
    EXPECT_EQ(read_at_every_split("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n"
                                  "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n",
                                  true),
              "200:;200:;");
}

TEST(ResponseReader, RefusesWhatTwoReadersCouldTakeDifferently) {
    const struct {
        std::string bytes;
        ResponseFault fault;
    } cases[] = {
        {"HTTP/2 200 OK\r\n\r\n", ResponseFault::not_http},
        {"<html>", ResponseFault::not_http},
        {"HTTP/1.1  200 OK\r\n\r\n", ResponseFault::bad_status_line},
        {"HTTP/1.1 2000 OK\r\n\r\n", ResponseFault::bad_status_line},
        {"HTTP/1.1 020 OK\r\n\r\n", ResponseFault::bad_status_line},
        {"HTTP/1.1 200 OK\n\r\n", ResponseFault::bad_status_line},
        {"HTTP/1.1 200 O\rK\r\n\r\n", ResponseFault::bad_status_line},
        {"HTTP/1.1 200 OK\r\n folded: x\r\n\r\n", ResponseFault::bad_field},
        {"HTTP/1.1 200 OK\r\nName : x\r\n\r\n", ResponseFault::bad_field},
        {"HTTP/1.1 200 OK\r\nName: x\n\r\n", ResponseFault::bad_field},
        {"HTTP/1.1 200 OK\r\nA: b\r\n\rx", ResponseFault::bad_field},
        {"HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n", ResponseFault::bad_length},
        {"HTTP/1.1 200 OK\r\nContent-Length: 1, 1\r\n\r\n", ResponseFault::bad_length},
        {"HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 1\r\n\r\na",
         ResponseFault::bad_length},
        {"HTTP/1.1 200 OK\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n",
         ResponseFault::bad_length},
        {"HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip, chunked\r\n\r\n", ResponseFault::bad_coding},
        {"HTTP/1.0 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n", ResponseFault::bad_coding},
        {"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n", ResponseFault::bad_chunk},
        {"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\nContent-Length: 1\r\n\r\n",
         ResponseFault::bad_chunk},
        {"HTTP/1.1 200 OK\r\nContent-Le", ResponseFault::cut_short},
        {"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhell", ResponseFault::cut_short},
        {"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\na", ResponseFault::cut_short},
    };
    for (const auto& each : cases) {
        const std::string told = read_at_every_split(each.bytes);
        EXPECT_EQ(told.substr(std::min(told.find('!'), told.size())),
                  "!" + std::string(to_string(each.fault)))
            << each.bytes;
    }
}

TEST(ResponseReader, BoundsTheHeadHoweverItComes) {
    const std::string start = "HTTP/1.1 200 OK\r\nX: ";
    const std::string end = "\r\nContent-Length: 0\r\n\r\n";
    const std::size_t room = ResponseLimits{}.head_bytes_max - start.size() - end.size();
    const std::string fits = start + std::string(room, 'x') + end;
    const std::string too_long = start + std::string(room + 1, 'x') + end;
    for (const std::size_t piece : {std::size_t{1000}, std::size_t{65'536}, too_long.size()}) {
        EXPECT_EQ(read_in_pieces(fits, piece, false, true), "200:;");
        EXPECT_EQ(read_in_pieces(too_long, piece, false, true), "!the head is too large");
    }
}

TEST(ResponseReader, BoundsTheInterimAnswers) {
    std::string bytes;
    for (int i = 0; i < 16; ++i) bytes += "HTTP/1.1 100 C\r\n\r\n";
    const std::string last = "HTTP/1.1 204 No\r\n\r\n";
    EXPECT_EQ(read_at_every_split(bytes + last), "204:;");
    EXPECT_EQ(read_at_every_split(bytes + "HTTP/1.1 100 C\r\n\r\n" + last),
              "!too many 1xx answers");
}

// What the next response on the connection is read as does not depend on the last.
TEST(ResponseReader, KeepsNothingOfTheLastResponse) {
    const std::vector<std::string> all{
        "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello",
        "HTTP/1.1 200 OK\r\nContent-Length: 1\r\nConnection: close\r\n\r\na",
        "HTTP/1.0 200 OK\r\nContent-Length: 1\r\nConnection: keep-alive\r\n\r\na",
        "HTTP/1.0 200 OK\r\nContent-Length: 1\r\n\r\na",
        "HTTP/1.1 204 No Content\r\n\r\n",
        "HTTP/1.1 304 Not Modified\r\nContent-Length: 9\r\n\r\n",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\nA: b\r\n\r\n",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
        "HTTP/1.1 103 Early\r\n\r\nHTTP/1.1 404\r\nContent-Length: 1\r\n\r\nx",
        "HTTP/1.1 103 Early\r\n\r\nHTTP/1.1 103 Early\r\n\r\n"
        "HTTP/1.1 103 Early\r\n\r\nHTTP/1.1 404\r\nContent-Length: 1\r\n\r\nx",
        "HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip\r\n\r\n",
    };
    const auto read = [](ResponseReader& reader, ByteView bytes, bool to_head) {
        std::string told;
        reader.next(to_head);
        for (;;) {
            const auto step = reader.step(bytes);
            bytes.remove_prefix(step.used);
            told += std::to_string(static_cast<int>(step.status)) + ':' + std::string(step.data);
            if (step.status == ReaderStatus::head || step.status == ReaderStatus::data ||
                step.status == ReaderStatus::trailer) {
                continue;
            }
            const ResponseStart& start = reader.start();
            return told + ';' + std::to_string(start.status) + ' ' + std::to_string(start.length) +
                   ' ' + std::to_string(start.version_minor) +
                   (start.keep_alive ? " kept" : " closed") +
                   std::to_string(static_cast<int>(start.body)) +
                   std::string(to_string(reader.fault())) + std::to_string(bytes.size());
        }
    };
    int used_again = 0;
    for (const std::string& last : all) {
        for (const std::string& next : all) {
            for (int heads = 0; heads < 4; ++heads) {
                // As many 1xx before each as are allowed in all.
                ResponseReader used({.interim_max = 3}), fresh({.interim_max = 3});
                read(used, last, (heads & 1) != 0);
                if (used.fault() != ResponseFault::none) continue;  // it is not used again
                ++used_again;
                EXPECT_EQ(read(used, next, (heads & 2) != 0), read(fresh, next, (heads & 2) != 0))
                    << last << "then " << next;
            }
        }
    }
    EXPECT_GT(used_again, 400);
}

TEST(ResponseReader, EveryFaultHasWords) {
    for (int i = 1; i < static_cast<int>(ResponseFault::count_); ++i) {
        EXPECT_FALSE(to_string(static_cast<ResponseFault>(i)).empty());
    }
}

TEST(ResponseReader, AHeadGivesTheFieldLinesOfTheFinalResponse) {
    const ByteView bytes =
        "HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n"
        "HTTP/1.1 200 OK\r\nA: 1\r\nContent-Length: 2\r\n\r\nok";
    ResponseReader reader;
    ResponseReader::Step step = reader.step(bytes);
    EXPECT_EQ(step.status, ReaderStatus::head);
    EXPECT_EQ(step.data, "A: 1\r\nContent-Length: 2\r\n");
    EXPECT_EQ(bytes.substr(step.used), "ok");
    reader = ResponseReader();
    step = reader.step("HTTP/1.1 204 None\r\n\r\n");
    EXPECT_EQ(step.status, ReaderStatus::head);
    EXPECT_EQ(step.data, "");
}

}  // namespace
}  // namespace tiderace::http::wire
