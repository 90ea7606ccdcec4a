// Internal. H2Settings: what one side told the other about itself (RFC 9113, section 6.5.2; RFC
// 8441, 3; RFC 9218, 2.1).
//
// Thread   Any; one object belongs to one thread at a time.
// Errors   A value that may not be is an H2Error: the connection ends with it.
// Limits   An entry list is as long as its frame; unknown settings are passed over.
// Memory   None.
// Keywords: SETTINGS, MAX_CONCURRENT_STREAMS, INITIAL_WINDOW_SIZE
#pragma once

#include <cstdint>
#include <limits>

#include "tiderace/base/bytes.h"
#include "tiderace/base/units.h"
#include "tiderace/http/wire/h2/error.h"

namespace tiderace::http::wire {

enum class H2SettingId : std::uint16_t {
    header_table_size = 0x1,
    enable_push = 0x2,
    max_concurrent_streams = 0x3,
    initial_window_size = 0x4,
    max_frame_size = 0x5,
    max_header_list_size = 0x6,
    enable_connect_protocol = 0x8,
    no_rfc7540_priorities = 0x9
};

struct H2Setting {
    H2SettingId id;
    std::uint32_t value;
};

inline constexpr std::uint32_t h2_window_bytes_max = 0x7fff'ffff;
inline constexpr std::size_t h2_setting_bytes = 6;

struct H2Settings {
    static constexpr std::uint32_t unlimited = std::numeric_limits<std::uint32_t>::max();

    // What holds until the first SETTINGS frame.
    std::uint32_t header_table_size = 4096;
    std::uint32_t max_concurrent_streams = unlimited;
    std::uint32_t initial_window_size = 65'535;
    std::uint32_t max_frame_size = 16_KiB;
    std::uint32_t max_header_list_size = unlimited;
    bool enable_push = true;
    bool enable_connect_protocol = false;
    bool no_rfc7540_priorities = false;

    // Takes the entries of an H2SettingsFrame in their order. On no_error all were taken.
    [[nodiscard]] H2Error apply(ByteView entries);
    [[nodiscard]] H2Error apply(H2Setting setting);

    bool operator==(const H2Settings&) const = default;
};

}  // namespace tiderace::http::wire
