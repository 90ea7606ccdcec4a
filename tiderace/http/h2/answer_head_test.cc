#include "tiderace/http/h2/answer_head.h"

#include <gtest/gtest.h>

#include "tiderace/http/wire/h2/frame_writer.h"
#include "tiderace/http/wire/h2/hpack_decoder.h"
#include "tiderace/http/wire/response_head.h"

namespace tiderace::http {
namespace {

using wire::FieldName;

struct Head {
    std::vector<wire::H2FrameHeader> frames;
    std::string block;
    std::vector<std::pair<std::string, std::string>> fields;
};

std::string drain(core::SendQueue& queue) {
    std::string out;
    while (!queue.empty()) {
        iovec piece[1];
        queue.gather(piece);
        out.append(static_cast<const char*>(piece[0].iov_base), piece[0].iov_len);
        queue.consume(piece[0].iov_len);
    }
    return out;
}

Head read(core::SendQueue& queue) {
    Head head;
    const std::string all = drain(queue);
    for (ByteView rest = all; !rest.empty();) {
        head.frames.push_back(wire::read_h2_frame_header(rest));
        rest.remove_prefix(wire::h2_frame_header_bytes);
        head.block += rest.substr(0, head.frames.back().length);
        rest.remove_prefix(head.frames.back().length);
    }
    wire::HpackDecoder decoder;
    std::string arena(decoder.arena_bytes(200'000), '\0');
    auto block = decoder.read(head.block, arena, 200'000);
    while (block.next() == wire::HpackDecoder::Status::field) {
        head.fields.emplace_back(block.field().name, block.field().value);
    }
    EXPECT_EQ(block.status(), wire::HpackDecoder::Status::end);
    return head;
}

TEST(H2AnswerHead, IsOneFrameWrittenInPlace) {
    core::BlockPool blocks;
    core::SendQueue queue;
    wire::HpackEncoder encoder(0);
    FieldBlock block;
    block.add(FieldName::etag, "\"1\"");
    Response response(206);
    response.set_block(block);
    response.add(FieldName::content_type, "text/css").add("X-Own", "1").add("Connection", "close");
    response.add("Proxy-Connection", "close");
    response.add(FieldName::content_length, "9").add("transfer-encoding", "chunked");
    ASSERT_TRUE(write_h2_answer_head(
        blocks, queue, encoder, response,
        {.stream = 5, .end_stream = true, .content_length = 7, .standing_fields = {}}));
    const Head head = read(queue);
    ASSERT_EQ(head.frames.size(), 1U);
    EXPECT_EQ(head.frames[0].type, wire::H2FrameType::headers);
    EXPECT_EQ(head.frames[0].flags, wire::h2_flag::end_headers | wire::h2_flag::end_stream);
    EXPECT_EQ(head.frames[0].stream, 5U);
    EXPECT_EQ(head.fields,
              (std::vector<std::pair<std::string, std::string>>{{":status", "206"},
                                                                {"etag", "\"1\""},
                                                                {"content-type", "text/css"},
                                                                {"x-own", "1"},
                                                                {"content-length", "7"}}));
}

TEST(H2AnswerHead, GoesBesideWhereTheBlockIsNearlyFull) {
    for (std::size_t left = 0; left < 40; ++left) {
        core::BlockPool blocks;
        core::SendQueue queue;
        wire::HpackEncoder encoder(0);
        const std::size_t room = queue.reserve(blocks, 1 << 20).size();
        queue.commit(0);
        const std::string filling(room - left, 'f');
        queue.append(blocks, filling);
        Response response;
        response.add("x-own", "0123456789");
        ASSERT_TRUE(write_h2_answer_head(blocks, queue, encoder, response, {.stream = 1}));
        queue.consume(filling.size());
        const Head head = read(queue);
        ASSERT_EQ(head.frames.size(), 1U) << left;
        EXPECT_EQ(head.fields.size(), 2U) << left;
    }
}

TEST(H2AnswerHead, IsContinuedWhereAFrameIsTooSmall) {
    core::BlockPool blocks;
    core::SendQueue queue;
    wire::HpackEncoder encoder(0);
    Response response;
    const std::string value(20'000, '{');  // longer in Huffman's code
    response.add("x-large", value);
    ASSERT_TRUE(
        write_h2_answer_head(blocks, queue, encoder, response, {.stream = 1, .end_stream = true}));
    const Head head = read(queue);
    ASSERT_EQ(head.frames.size(), 2U);
    EXPECT_EQ(head.frames[0].flags, wire::h2_flag::end_stream);
    EXPECT_EQ(head.frames[1].type, wire::H2FrameType::continuation);
    EXPECT_EQ(head.frames[1].flags, wire::h2_flag::end_headers);
    EXPECT_EQ(head.fields.back().second, value);
}

TEST(H2AnswerHead, WhatCannotBeSentIsNotWritten) {
    core::BlockPool blocks;
    core::SendQueue queue;
    wire::HpackEncoder encoder(0);
    Response bad;
    bad.add("x-bad", "one\r\ntwo");
    EXPECT_FALSE(write_h2_answer_head(blocks, queue, encoder, bad, {.stream = 1}));
    Response large;
    const std::string value(wire::response_head_bytes_max, '{');
    large.add("x-large", value);
    EXPECT_FALSE(write_h2_answer_head(blocks, queue, encoder, large, {.stream = 1}));
    EXPECT_TRUE(queue.empty());
    EXPECT_EQ(blocks.taken(), 0U);
    ASSERT_TRUE(write_h2_answer_head(blocks, queue, encoder, Response(204), {.stream = 1}));
    EXPECT_EQ(read(queue).fields[0].second, "204");
}

TEST(H2AnswerHead, AnInterimHeadIsItsStatusAlone) {
    core::BlockPool blocks;
    core::SendQueue queue;
    wire::HpackEncoder encoder(0);
    ASSERT_TRUE(write_h2_status(blocks, queue, encoder, 7, 100));
    const Head head = read(queue);
    EXPECT_EQ(head.frames[0].flags, wire::h2_flag::end_headers);
    EXPECT_EQ(head.fields.size(), 1U);
    EXPECT_EQ(head.fields[0].second, "100");
    EXPECT_FALSE(write_h2_status(blocks, queue, encoder, 7, 99));
    EXPECT_TRUE(queue.empty());
}

}  // namespace
}  // namespace tiderace::http
