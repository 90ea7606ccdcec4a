#include "tiderace/http/wire/accept.h"

#include <gtest/gtest.h>

namespace tiderace::http::wire {
namespace {

constexpr auto identity = ContentCoding::identity;
constexpr auto gzip = ContentCoding::gzip;
constexpr auto zstd = ContentCoding::zstd;
constexpr auto br = ContentCoding::br;
constexpr AvailableCodings all_codings{.gzip = true, .zstd = true, .br = true};

struct AcceptCase {
    ByteView accept_encoding;
    ContentCoding coding;
    bool identity_acceptable = true;
};

void expect_choices(std::initializer_list<AcceptCase> cases, AvailableCodings available) {
    for (const AcceptCase& c : cases) {
        const CodingChoice choice = choose_coding(c.accept_encoding, available);
        EXPECT_EQ(choice.coding, c.coding) << c.accept_encoding;
        EXPECT_EQ(choice.identity_acceptable, c.identity_acceptable) << c.accept_encoding;
    }
}

TEST(AcceptEncoding, ChoosesTheSmallestAmongEquals) {
    expect_choices({{"gzip, deflate, br, zstd", br},
                    {"gzip, deflate, zstd", zstd},
                    {"gzip, deflate", gzip},
                    {"gzip", gzip},
                    {"GZIP", gzip},
                    {"x-gzip", gzip},
                    {"gzip;q=0.5, br;q=0.5", br}},
                   all_codings);
}

TEST(AcceptEncoding, SendsPlainBytesByDefault) {
    expect_choices({{"", identity},
                    {"identity", identity},
                    {"deflate", identity},
                    {"compress, bogus", identity},
                    {" , ,", identity}},
                   all_codings);
}

TEST(AcceptEncoding, FollowsTheQualityValues) {
    expect_choices({{"gzip;q=1.0, br;q=0.9", gzip},
                    {"br;q=0.001, gzip;q=0.002", gzip},
                    {"br;q=0, gzip", gzip},
                    {"br;q=0.000, zstd ; q=0.5", zstd},
                    {"gzip;q=0", identity},
                    {"gzip;q=0.5, identity", identity},
                    {"gzip;q=0.5, identity;q=0.5", gzip},
                    {"gzip;q=0.5, identity;q=0.4", gzip},
                    {"gzip;Q=0.3,br;q=0.2", gzip}},
                   all_codings);
}

TEST(AcceptEncoding, TheStarStandsForWhatIsNotNamed) {
    expect_choices({{"*", br},
                    {"gzip, *;q=0.5", gzip},
                    {"br;q=0, *", zstd},
                    {"*;q=0.1, gzip;q=0.2", gzip},
                    {"*;q=0", identity, false},
                    {"gzip, *;q=0", gzip, false},
                    {"identity, *;q=0", identity, true}},
                   all_codings);
}

TEST(AcceptEncoding, FallsBackToPlainBytesEvenWhereTheyAreRefused) {
    expect_choices({{"identity;q=0", identity, false},
                    {"br, identity;q=0", br, false},
                    {"gzip;q=0, identity;q=0", identity, false}},
                   all_codings);
    expect_choices({{"br, identity;q=0", identity, false}}, {.gzip = true});
    expect_choices({{"br, gzip;q=0.1", gzip}}, {.gzip = true});
    expect_choices({{"gzip, br, zstd", identity}}, {});
    EXPECT_FALSE(AvailableCodings{}.any());
}

TEST(AcceptEncoding, PassesOverPiecesThatAreNotWellFormed) {
    expect_choices({{"br;q=2, gzip", gzip},
                    {"br;q=1.001, gzip", gzip},
                    {"br;q=0.1234, gzip;q=0.1", gzip},
                    {"br;q=, gzip", gzip},
                    {"br;q=.5, gzip", gzip},
                    {"br;q=-1, gzip", gzip},
                    {"br;q=1.x, gzip", gzip},
                    {"br;q=\"1\", gzip", gzip},
                    {"b r, gzip", gzip},
                    {"br;q=1., gzip;q=1.000", br},
                    {"\"", identity},
                    {"gzip, \"br", gzip}},
                   all_codings);
}

TEST(AcceptEncoding, NamesTheCodings) {
    EXPECT_EQ(coding_name(identity), "");
    EXPECT_EQ(coding_name(gzip), "gzip");
    EXPECT_EQ(coding_name(zstd), "zstd");
    EXPECT_EQ(coding_name(br), "br");
}

TEST(Accept, TheMostSpecificRangeSaysTheQuality) {
    constexpr ByteView accept = "text/*;q=0.3, text/plain;q=0.7, text/html;level=1, */*;q=0.5";
    EXPECT_EQ(quality_of(accept, "text/html"), 1000);
    EXPECT_EQ(quality_of(accept, "text/plain"), 700);
    EXPECT_EQ(quality_of(accept, "TEXT/PLAIN"), 700);
    EXPECT_EQ(quality_of(accept, "text/css"), 300);
    EXPECT_EQ(quality_of(accept, "image/png"), 500);
    EXPECT_EQ(quality_of("text/html", "image/png"), 0);
    EXPECT_EQ(quality_of("*/*, text/html;q=0", "text/html"), 0);
}

TEST(Accept, WithoutTheFieldEverythingIsWanted) {
    EXPECT_EQ(quality_of("", "text/html"), quality_max);
    EXPECT_EQ(quality_of(" ", "x/y"), quality_max);
}

TEST(Accept, ReadsQuotedParameters) {
    EXPECT_EQ(quality_of("text/html;a=\"b,c;q=0\";q=0.4", "text/html"), 400);
    EXPECT_EQ(quality_of("text/html;a=\"\\\";q=0\";q=0.4", "text/html"), 400);
    EXPECT_EQ(quality_of("text/html;q=0.4;q=0.9", "text/html"), 400);
}

TEST(Accept, PrefersJsonOnlyForClientsThatAskForIt) {
    for (const ByteView accept :
         {"application/json", "application/json, text/plain, */*", "application/json;charset=utf-8",
          "text/html;q=0.9, application/json", "application/*", "application/json, text/*",
          "application/json;q=0.1", "application/json;q=0.001"}) {
        EXPECT_TRUE(prefers_json(accept)) << accept;
    }
    for (const ByteView accept :
         {"", "*/*", "text/html", "text/html, application/json", "application/json;q=0",
          "application/json;q=0, text/html;q=0", "application/json;q=0.5, text/html",
          "text/html,application/xhtml+xml,application/xml;q=0.9,image/avif,*/*;q=0.8",
          "image/png"}) {
        EXPECT_FALSE(prefers_json(accept)) << accept;
    }
}

}  // namespace
}  // namespace tiderace::http::wire
