#include "tiderace/http/wire/h2/error.h"

#include <array>

namespace tiderace::http::wire {
namespace {

// In the order of the enum.
constexpr auto names = std::to_array<std::string_view>({
    "NO_ERROR",
    "PROTOCOL_ERROR",
    "INTERNAL_ERROR",
    "FLOW_CONTROL_ERROR",
    "SETTINGS_TIMEOUT",
    "STREAM_CLOSED",
    "FRAME_SIZE_ERROR",
    "REFUSED_STREAM",
    "CANCEL",
    "COMPRESSION_ERROR",
    "CONNECT_ERROR",
    "ENHANCE_YOUR_CALM",
    "INADEQUATE_SECURITY",
    "HTTP_1_1_REQUIRED",
});
static_assert(names.size() == static_cast<std::size_t>(H2Error::http_1_1_required) + 1);

}  // namespace

std::string_view to_string(H2Error error) {
    const auto code = static_cast<std::size_t>(error);
    return code < names.size() ? names[code] : std::string_view();
}

}  // namespace tiderace::http::wire
