#include "tiderace/http/wire/h2/settings.h"

#include <gtest/gtest.h>

#include <string>

#include "tiderace/http/wire/h2/frame_writer.h"

namespace tiderace::http::wire {
namespace {

using Id = H2SettingId;

TEST(H2Settings, TakesAndRefusesValuesAsTheRfcSays) {
    struct Case {
        Id id;
        std::uint32_t value;
        H2Error error;
    };
    constexpr std::uint32_t most = 0xffff'ffff;
    const Case cases[] = {
        {Id::header_table_size, 0, H2Error::no_error},
        {Id::header_table_size, most, H2Error::no_error},
        {Id::enable_push, 0, H2Error::no_error},
        {Id::enable_push, 1, H2Error::no_error},
        {Id::enable_push, 2, H2Error::protocol_error},
        {Id::max_concurrent_streams, 0, H2Error::no_error},
        {Id::max_concurrent_streams, most, H2Error::no_error},
        {Id::initial_window_size, 0, H2Error::no_error},
        {Id::initial_window_size, 0x7fff'ffff, H2Error::no_error},
        {Id::initial_window_size, 0x8000'0000, H2Error::flow_control_error},
        {Id::max_frame_size, 0x3fff, H2Error::protocol_error},
        {Id::max_frame_size, 0x4000, H2Error::no_error},
        {Id::max_frame_size, 0xff'ffff, H2Error::no_error},
        {Id::max_frame_size, 0x100'0000, H2Error::protocol_error},
        {Id::max_header_list_size, 0, H2Error::no_error},
        {Id::max_header_list_size, most, H2Error::no_error},
        {Id::enable_connect_protocol, 1, H2Error::no_error},
        {Id::enable_connect_protocol, 2, H2Error::protocol_error},
        {Id::no_rfc7540_priorities, 1, H2Error::no_error},
        {Id::no_rfc7540_priorities, 2, H2Error::protocol_error},
        {static_cast<Id>(0), most, H2Error::no_error},
        {static_cast<Id>(7), most, H2Error::no_error},
        {static_cast<Id>(0xffff), most, H2Error::no_error},
    };
    for (const Case& c : cases) {
        H2Settings settings;
        EXPECT_EQ(settings.apply(H2Setting{c.id, c.value}), c.error)
            << static_cast<int>(c.id) << " = " << c.value;
        if (c.error != H2Error::no_error) {
            EXPECT_EQ(settings, H2Settings());
        }
    }
}

TEST(H2Settings, TakesEntriesInTheirOrderAsTheWriterWritesThem) {
    const H2Setting entries[] = {
        {Id::initial_window_size, 1},
        {Id::header_table_size, 2},
        {Id::enable_push, 0},
        {Id::max_concurrent_streams, 3},
        {Id::max_frame_size, 20'000},
        {Id::max_header_list_size, 4},
        {Id::enable_connect_protocol, 1},
        {Id::no_rfc7540_priorities, 1},
        {static_cast<Id>(99), 5},
        {Id::initial_window_size, 6},
    };
    std::string frame(h2_frame_header_bytes + std::size(entries) * h2_setting_bytes, '\0');
    ASSERT_EQ(write_h2_settings(frame, entries), frame.size());
    H2Settings settings;
    ASSERT_EQ(settings.apply(ByteView(frame).substr(h2_frame_header_bytes)), H2Error::no_error);
    const H2Settings expected{.header_table_size = 2,
                              .max_concurrent_streams = 3,
                              .initial_window_size = 6,
                              .max_frame_size = 20'000,
                              .max_header_list_size = 4,
                              .enable_push = false,
                              .enable_connect_protocol = true,
                              .no_rfc7540_priorities = true};
    EXPECT_EQ(settings, expected);
}

TEST(H2Settings, StopsAtTheFirstBadEntry) {
    const H2Setting entries[] = {{Id::enable_push, 7}, {Id::max_frame_size, 1}};
    std::string frame(h2_frame_header_bytes + 2 * h2_setting_bytes, '\0');
    write_h2_settings(frame, entries);
    H2Settings settings;
    EXPECT_EQ(settings.apply(ByteView(frame).substr(h2_frame_header_bytes)),
              H2Error::protocol_error);
}

}  // namespace
}  // namespace tiderace::http::wire
