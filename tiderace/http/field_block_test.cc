#include "tiderace/http/field_block.h"

#include <gtest/gtest.h>

#include "tiderace/http/response.h"

namespace tiderace::http {
namespace {

using wire::FieldName;

TEST(FieldBlock, RendersWhatItHolds) {
    FieldBlock block;
    EXPECT_TRUE(block.empty());
    EXPECT_TRUE(block.add(FieldName::etag, "\"1\""));
    EXPECT_TRUE(block.add(FieldName::vary, "Accept-Encoding"));
    EXPECT_EQ(block.lines(), "ETag: \"1\"\r\nVary: Accept-Encoding\r\n");
    EXPECT_EQ(block.find(FieldName::etag)->value, "\"1\"");
    EXPECT_EQ(block.find(FieldName::range), nullptr);
}

TEST(FieldBlock, AValueThatCannotBeSentLeavesNothing) {
    FieldBlock block;
    EXPECT_TRUE(block.add(FieldName::etag, "\"1\""));
    EXPECT_FALSE(block.add(FieldName::vary, "a\r\nSet-Cookie: b"));
    EXPECT_TRUE(block.empty());
    EXPECT_EQ(block.lines(), "");
}

TEST(FieldBlock, IsRenderedForBothVersionsWhateverIsAddedLater) {
    FieldBlock block;
    EXPECT_EQ(block.hpack(), "");
    block.add(FieldName::etag, "\"1\"");
    const std::string first(block.hpack());
    EXPECT_NE(first, "");
    EXPECT_EQ(block.hpack(), first);
    block.add(FieldName::vary, "Accept-Encoding");
    const std::string both(block.hpack());
    EXPECT_GT(both.size(), first.size());
    EXPECT_EQ(both.substr(0, first.size()), first);
    EXPECT_EQ(block.hpack(), both) << "once";
    block.clear();
    EXPECT_TRUE(block.empty());
    EXPECT_EQ(block.hpack(), "");
    EXPECT_EQ(block.lines(), "");
    block.add(FieldName::etag, "\"1\"");
    EXPECT_EQ(block.hpack(), first);
    EXPECT_FALSE(block.add(FieldName::vary, "a\nb"));
    EXPECT_EQ(block.hpack(), "");
}

TEST(FieldBlock, WhatIsBesideItIsFoundBehindIt) {
    FieldBlock block;
    block.add(FieldName::etag, "\"1\"");
    Response response;
    response.set_block(block);
    response.add(FieldName::etag, "\"2\"").add(FieldName::vary, "Origin");
    EXPECT_EQ(response.find(FieldName::etag)->value, "\"1\"");
    EXPECT_EQ(response.find(FieldName::vary)->value, "Origin");
    EXPECT_FALSE(response.find(FieldName::range));
    response.remove(FieldName::etag);
    EXPECT_FALSE(response.find(FieldName::etag));
    EXPECT_EQ(response.find(FieldName::vary)->value, "Origin");
}

TEST(FieldBlock, AFilterChangesTheAnswerAndNotTheBlock) {
    FieldBlock block;
    block.add(FieldName::etag, "\"1\"");
    block.add(FieldName::vary, "Accept-Encoding");
    Response response(200);
    response.set_block(block);
    ASSERT_TRUE(response.find(FieldName::etag));
    EXPECT_EQ(response.find(FieldName::etag)->value, "\"1\"");
    EXPECT_EQ(response.block(), &block);
    response.set(FieldName::etag, "\"2\"");
    EXPECT_EQ(response.block(), nullptr) << "now its fields are the answer's own";
    EXPECT_EQ(response.find(FieldName::etag)->value, "\"2\"");
    EXPECT_EQ(response.find(FieldName::vary)->value, "Accept-Encoding");
    EXPECT_EQ(block.find(FieldName::etag)->value, "\"1\"");
}

}  // namespace
}  // namespace tiderace::http
