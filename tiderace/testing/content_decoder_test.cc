#include "tiderace/testing/content_decoder.h"

#include <gtest/gtest.h>

namespace tiderace::testing {
namespace {

using http::wire::ContentCoding;
using namespace std::string_view_literals;

// "tide\n" as the command line tools write it.
constexpr ByteView gzip =
    "\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\x03\x2b\xc9\x4c\x49\xe5\x02\x00\x9b\x1c\xdf\x3b\x05\x00"
    "\x00"
    "\x00"sv;

TEST(ContentDecoder, UndoesWhatWasDone) {
    if (make_decoder(ContentCoding::gzip) == nullptr) GTEST_SKIP() << "gzip is not built in";
    EXPECT_EQ(decode_all(ContentCoding::gzip, gzip), "tide\n");
}

TEST(ContentDecoder, SeesWhatIsCutOrFollowedByMore) {
    if (make_decoder(ContentCoding::gzip) == nullptr) GTEST_SKIP() << "gzip is not built in";
    EXPECT_EQ(decode_all(ContentCoding::gzip, gzip.substr(0, gzip.size() - 1)), "(broken)");
    EXPECT_EQ(decode_all(ContentCoding::gzip, std::string(gzip) + "x"), "(broken)");
}

TEST(ContentDecoder, PlainBytesAreNotOfAnyCoding) {
    for (const auto coding : {ContentCoding::gzip, ContentCoding::br, ContentCoding::zstd}) {
        if (make_decoder(coding) == nullptr) continue;
        EXPECT_EQ(decode_all(coding, "plain text, and a little more of it"), "(broken)");
    }
}

}  // namespace
}  // namespace tiderace::testing
