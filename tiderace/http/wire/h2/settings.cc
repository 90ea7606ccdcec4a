#include "tiderace/http/wire/h2/settings.h"

#include "tiderace/http/wire/h2/big_endian.h"
#include "tiderace/http/wire/h2/frame.h"

namespace tiderace::http::wire {
namespace {

H2Error take_flag(std::uint32_t value, bool& flag) {
    if (value > 1) return H2Error::protocol_error;
    flag = value == 1;
    return H2Error::no_error;
}

H2Error take_number(std::uint32_t value, std::uint32_t& number) {
    number = value;
    return H2Error::no_error;
}

}  // namespace

H2Error H2Settings::apply(H2Setting setting) {
    switch (setting.id) {
        case H2SettingId::header_table_size:
            return take_number(setting.value, header_table_size);
        case H2SettingId::enable_push:
            return take_flag(setting.value, enable_push);
        case H2SettingId::max_concurrent_streams:
            return take_number(setting.value, max_concurrent_streams);
        case H2SettingId::initial_window_size:
            // Each bound, and its error, is in RFC 9113, 6.5.2.
            if (setting.value > h2_window_bytes_max) return H2Error::flow_control_error;
            return take_number(setting.value, initial_window_size);
        case H2SettingId::max_frame_size:
            if (setting.value < h2_frame_bytes_min || setting.value > h2_frame_bytes_max) {
                return H2Error::protocol_error;
            }
            return take_number(setting.value, max_frame_size);
        case H2SettingId::max_header_list_size:
            return take_number(setting.value, max_header_list_size);
        case H2SettingId::enable_connect_protocol:
            return take_flag(setting.value, enable_connect_protocol);
        case H2SettingId::no_rfc7540_priorities:
            return take_flag(setting.value, no_rfc7540_priorities);
    }
    return H2Error::no_error;
}

H2Error H2Settings::apply(ByteView entries) {
    for (; entries.size() >= h2_setting_bytes; entries.remove_prefix(h2_setting_bytes)) {
        const auto id = static_cast<H2SettingId>(read_big_endian<2>(entries.data()));
        const auto value = static_cast<std::uint32_t>(read_big_endian<4>(entries.data() + 2));
        if (const H2Error error = apply({id, value}); error != H2Error::no_error) return error;
    }
    return H2Error::no_error;
}

}  // namespace tiderace::http::wire
