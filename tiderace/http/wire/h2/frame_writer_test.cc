#include "tiderace/http/wire/h2/frame_writer.h"

#include <gtest/gtest.h>

#include <string>

namespace tiderace::http::wire {
namespace {

using namespace std::string_literals;

template <typename... Values>
std::string written(std::size_t (*write)(std::span<char>, Values...), std::size_t bytes,
                    std::type_identity_t<Values>... values) {
    std::string out(bytes, '!');
    EXPECT_EQ(write(out, values...), bytes);
    return out;
}

TEST(H2FrameWriter, WritesTheBytesOfTheRfc) {
    EXPECT_EQ(written(write_h2_settings_ack, h2_settings_ack_bytes), "\0\0\0\4\1\0\0\0\0"s);
    EXPECT_EQ(written(write_h2_ping, h2_ping_bytes, {'1', '2', '3', '4', '5', '6', '7', '8'}, true),
              "\0\0\10\6\1\0\0\0\00012345678"s);
    EXPECT_EQ(written(write_h2_ping, h2_ping_bytes, {}, false).substr(0, 5), "\0\0\10\6\0"s);
    EXPECT_EQ(written(write_h2_rst_stream, h2_rst_stream_bytes, 5, H2Error::cancel),
              "\0\0\4\3\0\0\0\0\5\0\0\0\10"s);
    EXPECT_EQ(written(write_h2_window_update, h2_window_update_bytes, 0, 0x7fff'ffff),
              "\0\0\4\10\0\0\0\0\0\x7f\xff\xff\xff"s);
    EXPECT_EQ(written(write_h2_goaway, h2_goaway_bytes + 4, 7, H2Error::enhance_your_calm, "calm"),
              "\0\0\14\7\0\0\0\0\0\0\0\0\7\0\0\0\13calm"s);
    const H2Setting settings[] = {{H2SettingId::max_concurrent_streams, 100}};
    EXPECT_EQ(written(write_h2_settings, h2_frame_header_bytes + 6, settings),
              "\0\0\6\4\0\0\0\0\0\0\3\0\0\0\144"s);
}

TEST(H2FrameWriterDeathTest, RefusesWhatNoFrameCanHold) {
    std::string out(64, '!');
    EXPECT_DEATH(write_h2_window_update(out, 1, 0), "no such increment");
    EXPECT_DEATH(write_h2_rst_stream(out, 0, H2Error::cancel), "GOAWAY");
    EXPECT_DEATH(write_h2_ping(std::span(out).first(16), {}, false), "no room");
}

}  // namespace
}  // namespace tiderace::http::wire
