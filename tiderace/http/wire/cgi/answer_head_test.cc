#include "tiderace/http/wire/cgi/answer_head.h"

#include <gtest/gtest.h>

#include <memory>

#include "tiderace/testing/split_feed.h"

namespace tiderace::http::wire::cgi {
namespace {

using Form = AnswerHeadReader::Form;
using State = AnswerHeadReader::State;

struct ReadHead {
    State state;
    AnswerFault fault;
    AnswerHead head;
    std::size_t used = 0;
    std::unique_ptr<AnswerHeadReader> reader;
};

ReadHead read(ByteView text, Form form = Form::cgi) {
    ReadHead out{};
    out.reader = std::make_unique<AnswerHeadReader>(form);
    out.used = out.reader->feed(text);
    out.state = out.reader->state();
    out.fault = out.reader->fault();
    out.head = out.reader->head();
    return out;
}

TEST(AnswerHead, DocumentWithLinesOfEitherEnd) {
    for (const ByteView text : {"Content-Type: text/plain\nX-A: 1\n\nbody",
                                "Content-Type: text/plain\r\nX-A: 1\r\n\r\nbody"}) {
        const ReadHead got = read(text);
        ASSERT_EQ(got.state, State::complete);
        EXPECT_EQ(text.substr(got.used), "body");
        EXPECT_EQ(got.head.status, 200);
        ASSERT_EQ(got.head.fields.size(), 2U);
        EXPECT_EQ(got.head.fields[0].value, "text/plain");
        EXPECT_EQ(got.head.fields[1].name, "X-A");
    }
}

TEST(AnswerHead, StatusIsTakenWithOrWithoutItsReason) {
    EXPECT_EQ(read("Status: 404 Not Found\n\n").head.status, 404);
    EXPECT_EQ(read("status:201\n\n").head.status, 201);
    for (const ByteView bad : {"Status: 99 x\n\n", "Status: 600\n\n", "Status: abc\n\n",
                               "Status: 20\n\n", "Status: 2000\n\n", "Status: 101\n\n"}) {
        EXPECT_EQ(read(bad).fault, AnswerFault::bad_status) << bad;
    }
}

TEST(AnswerHead, ALocationAloneIsARedirectOfTheClient) {
    for (const ByteView to : {"https://a.example/b", "//a.example/b", "/b?x=1", "/p#part", "b"}) {
        const std::string text = "Location: " + std::string(to) + "\n\n";
        const ReadHead got = read(text);
        ASSERT_EQ(got.state, State::complete) << to;
        EXPECT_EQ(got.head.status, 302) << to;
        ASSERT_EQ(got.head.fields.size(), 1U);
        EXPECT_EQ(got.head.fields[0].value, to);
    }
    EXPECT_EQ(read("Location: /b\nContent-Type: a/b\n\n").head.status, 302);
    EXPECT_EQ(read("Status: 303\nLocation: /b\n\n").head.status, 303);
    EXPECT_EQ(read("Location: /b\nStatus: 201\n\n").head.status, 201);
    EXPECT_EQ(read("Location:\n\n").fault, AnswerFault::nothing_useful);
    EXPECT_EQ(read("Location:\nContent-Type: a/b\n\n").head.status, 200);
}

TEST(AnswerHead, FramingFieldsAreDropped) {
    const ReadHead got = read(
        "Content-Type: a/b\nConnection: close\nTransfer-Encoding: chunked\nDate: x\n"
        "Keep-Alive: 1\nUpgrade: h2c\nProxy-Connection: x\nContent-Length: 12\n\n");
    ASSERT_EQ(got.state, State::complete);
    EXPECT_EQ(got.head.fields.size(), 1U);
    EXPECT_EQ(got.head.content_length, 12U);
}

TEST(AnswerHead, FaultsHaveNames) {
    EXPECT_EQ(read("no colon\n\n").fault, AnswerFault::bad_line);
    EXPECT_EQ(read("Content-Type: a/b\n folded\n\n").fault, AnswerFault::bad_line);
    EXPECT_EQ(read("a b: c\n\n").fault, AnswerFault::bad_line);
    EXPECT_EQ(read(ByteView("Content-Type: a\0b\n\n", 19)).fault, AnswerFault::bad_value);
    EXPECT_EQ(read("Content-Type: a\rSet-Cookie: b\n\n").fault, AnswerFault::bad_value);
    EXPECT_EQ(read("Content-Length: -1\n\n").fault, AnswerFault::bad_length);
    EXPECT_EQ(read("Status: 200\nContent-Length: 1\nContent-Length: 2\n\n").fault,
              AnswerFault::bad_length);
    EXPECT_EQ(read("X-A: 1\n\n").fault, AnswerFault::nothing_useful);
    EXPECT_EQ(read("\n").fault, AnswerFault::nothing_useful);
    for (int fault = 0; fault <= static_cast<int>(AnswerFault::nothing_useful); ++fault) {
        EXPECT_FALSE(to_string(static_cast<AnswerFault>(fault)).empty());
    }
}

TEST(AnswerHead, IsBounded) {
    const std::string flood(AnswerHeadReader::head_bytes_max + 1, 'a');
    EXPECT_EQ(read(flood).fault, AnswerFault::too_long);
    std::string fields;
    for (std::size_t i = 0; i <= AnswerHeadReader::fields_max; ++i) fields += "X-A: 1\n";
    EXPECT_EQ(read(fields + "\n").fault, AnswerFault::too_many);
}

TEST(AnswerHead, WholeAnswersBeginWithAStatusLine) {
    const ReadHead got = read("HTTP/1.1 207 Multi\r\nX-A: 1\r\n\r\nbody", Form::whole_answer);
    ASSERT_EQ(got.state, State::complete);
    EXPECT_EQ(got.head.status, 207);
    EXPECT_EQ(read("Status: 200\n\n", Form::whole_answer).fault, AnswerFault::bad_status);
    EXPECT_EQ(read("HTTP/1.1 200 OK\n\n", Form::cgi).fault, AnswerFault::bad_line);
}

TEST(AnswerHead, DoesNotDependOnTheSplit) {
    const ByteView text = "Status: 404 Not Found\r\nContent-Type: a/b\nX-Long: value\n\nbody";
    testing::at_every_split(text, [&](std::span<const ByteView> pieces, const std::string& how) {
        AnswerHeadReader reader;
        std::string rest;
        for (const ByteView piece : pieces) {
            const std::size_t used = reader.state() == State::need_more ? reader.feed(piece) : 0;
            rest += piece.substr(used);
        }
        ASSERT_EQ(reader.state(), State::complete) << how;
        EXPECT_EQ(reader.head().status, 404) << how;
        EXPECT_EQ(reader.head().fields.size(), 2U) << how;
        EXPECT_EQ(rest, "body") << how;
    });
}

}  // namespace
}  // namespace tiderace::http::wire::cgi
