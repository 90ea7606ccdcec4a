#include "tiderace/http/wire/h2/hpack_static_table.h"

#include <gtest/gtest.h>

namespace tiderace::http::wire {
namespace {

TEST(HpackStaticTable, HasTheEntriesOfTheRfc) {
    struct Case {
        std::uint32_t index;
        ByteView name;
        ByteView value;
    };
    const Case cases[] = {
        {1, ":authority", ""},
        {2, ":method", "GET"},
        {5, ":path", "/index.html"},
        {7, ":scheme", "https"},
        {8, ":status", "200"},
        {14, ":status", "500"},
        {15, "accept-charset", ""},
        {16, "accept-encoding", "gzip, deflate"},
        {28, "content-length", ""},
        {33, "date", ""},
        {38, "host", ""},
        {50, "range", ""},
        {58, "user-agent", ""},
        {61, "www-authenticate", ""},
    };
    for (const Case& c : cases) {
        EXPECT_EQ(hpack_static::entry(c.index).name, c.name);
        EXPECT_EQ(hpack_static::entry(c.index).value, c.value);
    }
}

TEST(HpackStaticTable, EveryEntryIsWhatItsTextSaysAndInOrder) {
    for (std::uint32_t index = 1; index <= hpack_static::entries; ++index) {
        const HpackField& entry = hpack_static::entry(index);
        const HpackField judged = judge_hpack_field(entry.name, entry.value);
        EXPECT_EQ(entry.id, judged.id) << entry.name;
        EXPECT_EQ(entry.pseudo, judged.pseudo) << entry.name;
        EXPECT_EQ(judged.refusal, Refusal::none) << entry.name;
        if (index > 16 && entry.name != "accept") {  // the RFC has accept behind accept-ranges
            EXPECT_GT(entry.name, hpack_static::entry(index - 2).name);
        }
        if (entry.id != FieldName::other) {
            EXPECT_EQ(hpack_static::index_of(entry.id), index);
        }
    }
    EXPECT_EQ(hpack_static::index_of(FieldName::other), 0U);
    EXPECT_EQ(hpack_static::index_of(FieldName::connection), 0U);
}

TEST(HpackStaticTable, FindsTheStatusesItHas) {
    for (int code = 100; code < 1000; ++code) {
        const std::uint32_t index = hpack_static::index_of_status(code);
        if (index == 0) continue;
        EXPECT_EQ(hpack_static::entry(index).pseudo, PseudoField::status);
        EXPECT_EQ(hpack_static::entry(index).value, std::to_string(code));
    }
    for (const int code : {200, 204, 206, 304, 400, 404, 500}) {
        EXPECT_NE(hpack_static::index_of_status(code), 0U) << code;
    }
    EXPECT_EQ(hpack_static::entry(hpack_static::status_index).name, ":status");
}

}  // namespace
}  // namespace tiderace::http::wire
