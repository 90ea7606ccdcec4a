#include "tiderace/http/wire/h2/frame.h"

#include <gtest/gtest.h>

#include <string>

namespace tiderace::http::wire {
namespace {

using namespace std::string_literals;

TEST(H2FrameHeader, IsReadAsItWasWritten) {
    const H2FrameHeader headers[] = {
        {},
        {.length = 0xff'ffff, .type = H2FrameType::headers, .flags = 0xff, .stream = h2_stream_max},
        {.length = 1, .type = static_cast<H2FrameType>(0xfe), .flags = 0x80, .stream = 0x0102'0304},
    };
    for (const H2FrameHeader& header : headers) {
        std::string out(h2_frame_header_bytes, '!');
        EXPECT_EQ(write_h2_frame_header(out, header), out.size());
        EXPECT_EQ(read_h2_frame_header(out), header);
    }
}

TEST(H2FrameHeader, DropsTheReservedBitThatAPeerSet) {
    EXPECT_EQ(read_h2_frame_header("\0\0\0\0\0\xff\xff\xff\xff"s).stream, h2_stream_max);
}

TEST(H2FrameHeaderDeathTest, RefusesWhatNoFrameCanHave) {
    std::string out(h2_frame_header_bytes, '!');
    EXPECT_DEATH(write_h2_frame_header(out, {.length = h2_frame_bytes_max + 1}), "no such frame");
    EXPECT_DEATH(write_h2_frame_header(out, {.stream = h2_stream_max + 1}), "no such frame");
    EXPECT_DEATH(read_h2_frame_header("12345678"), "not a whole");
}

}  // namespace
}  // namespace tiderace::http::wire
