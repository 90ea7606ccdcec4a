#include "tiderace/http/wire/field_name.h"

#include <gtest/gtest.h>

#include <cctype>
#include <string>

#include "tiderace/base/random.h"
#include "tiderace/http/wire/field_syntax.h"

namespace tiderace::http::wire {
namespace {

constexpr auto last_name = FieldName::alt_svc;

template <typename Use>
void for_each_name(Use use) {
    for (int id = 1; id <= static_cast<int>(last_name); ++id) use(static_cast<FieldName>(id));
}

TEST(FieldName, EachNameIsFoundInAnyCase) {
    for_each_name([](FieldName id) {
        const std::string canonical(to_string(id));
        ASSERT_GE(canonical.size(), 2U);
        std::string upper = canonical;
        std::string lower = canonical;
        for (char& c : upper) c = static_cast<char>(std::toupper(c));
        for (char& c : lower) c = static_cast<char>(std::tolower(c));
        EXPECT_EQ(intern_field_name(canonical), id) << canonical;
        EXPECT_EQ(intern_field_name(upper), id) << upper;
        EXPECT_EQ(intern_field_name(lower), id) << lower;
        EXPECT_EQ(to_line_start(id), canonical + ": ");
    });
}

TEST(FieldName, TheEnumAndTheTextsAreInTheSameOrder) {
    EXPECT_EQ(to_string(FieldName::other), "");
    EXPECT_EQ(to_string(FieldName::host), "Host");
    EXPECT_EQ(to_string(FieldName::content_length), "Content-Length");
    EXPECT_EQ(to_string(FieldName::te), "TE");
    EXPECT_EQ(to_string(FieldName::if_range), "If-Range");
    EXPECT_EQ(to_string(FieldName::http2_settings), "HTTP2-Settings");
    EXPECT_EQ(to_string(FieldName::access_control_request_headers),
              "Access-Control-Request-Headers");
    EXPECT_EQ(to_string(FieldName::etag), "ETag");
    EXPECT_EQ(to_string(FieldName::www_authenticate), "WWW-Authenticate");
    EXPECT_EQ(to_string(FieldName::alt_svc), "Alt-Svc");
}

TEST(FieldName, EveryChangeOfOneByteButItsCaseIsAnotherName) {
    for_each_name([](FieldName id) {
        const std::string canonical(to_string(id));
        for (std::size_t at = 0; at < canonical.size(); ++at) {
            for (int byte = 0; byte < 256; ++byte) {
                std::string changed = canonical;
                changed[at] = static_cast<char>(byte);
                const bool same = equals_ignoring_case(changed, canonical);
                if (same) {
                    EXPECT_EQ(intern_field_name(changed), id) << changed;
                } else {
                    EXPECT_NE(intern_field_name(changed), id) << changed << " at " << at;
                }
            }
        }
    });
}

TEST(FieldName, HasTheSpellingOfHttp2) {
    for_each_name([](FieldName id) {
        std::string lower(to_string(id));
        for (char& c : lower) c = to_lower(c);
        EXPECT_EQ(to_lower_string(id), lower);
    });
    EXPECT_EQ(to_lower_string(FieldName::other), "");
}

TEST(FieldName, LongerAndShorterTextIsAnotherName) {
    for_each_name([](FieldName id) {
        const std::string canonical(to_string(id));
        EXPECT_NE(intern_field_name(canonical + "s"), id);
        EXPECT_NE(intern_field_name(canonical + std::string(1, '\0')), id);
        EXPECT_NE(intern_field_name(canonical.substr(1)), id);
        EXPECT_NE(intern_field_name(canonical.substr(0, canonical.size() - 1)), id);
    });
    EXPECT_EQ(intern_field_name(""), FieldName::other);
    EXPECT_EQ(intern_field_name("X"), FieldName::other);
    EXPECT_EQ(intern_field_name("X-Unheard-Of"), FieldName::other);
    EXPECT_EQ(intern_field_name("content_length"), FieldName::other);
}

TEST(FieldName, RandomBytesAreOther) {
    Random random(1);
    for (int round = 0; round < 20'000; ++round) {
        std::string bytes(random.below(40), '\0');
        for (char& c : bytes) c = static_cast<char>(random.below(256));
        const FieldName id = intern_field_name(bytes);
        if (id != FieldName::other) {
            EXPECT_TRUE(equals_ignoring_case(bytes, to_string(id)));
        }
    }
}

}  // namespace
}  // namespace tiderace::http::wire
