#include "tiderace/log/level.h"

#include <array>
#include <cstddef>

namespace tiderace::log {
namespace {

constexpr std::array<std::string_view, 6> names{"trace",   "debug", "info",
                                                "warning", "error", "off"};

}  // namespace

std::string_view to_string(Level level) {
    return names[static_cast<std::size_t>(level)];
}

}  // namespace tiderace::log
