#include "tiderace/http/wire/mime_table.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "tiderace/http/wire/field_syntax.h"
#include "tiderace/http/wire/mime.h"

namespace tiderace::http::wire {
namespace {

TEST(MimeTypesBuiltIn, AreManySortedAndUnique) {
    const auto table = builtin_mime_types();
    EXPECT_GE(table.size(), 300u);
    for (std::size_t i = 1; i < table.size(); ++i) {
        EXPECT_LT(table[i - 1].extension, table[i].extension);
    }
}

TEST(MimeTypesBuiltIn, CouldAllBeAddedByAUser) {
    MimeTable table;
    for (const MimeEntry& entry : builtin_mime_types()) {
        EXPECT_TRUE(table.add(entry.extension, entry.type)) << entry.extension;
        EXPECT_TRUE(std::ranges::none_of(entry.extension, [](char c) { return c != to_lower(c); }));
    }
}

TEST(MimeTypesBuiltIn, SayUtf8ForTextAndForNothingElse) {
    for (const MimeEntry& entry : builtin_mime_types()) {
        EXPECT_EQ(entry.type.starts_with("text/"), entry.type.ends_with("; charset=utf-8"))
            << entry.extension;
        EXPECT_EQ(entry.type.find(';') != ByteView::npos, entry.type.starts_with("text/"));
    }
}

}  // namespace
}  // namespace tiderace::http::wire
