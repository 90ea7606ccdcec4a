#include "tiderace/net/close_reason.h"

#include <array>

namespace tiderace::net {

std::string_view to_string(CloseReason reason) {
    static constexpr std::array<std::string_view, static_cast<std::size_t>(CloseReason::count_)>
        names{"finished",         "peer_finished",    "peer_reset",        "idle_expired",
              "deadline_expired", "write_stalled",    "queue_overflow",    "unread_overflow",
              "source_shrank",    "send_memory_full", "refused_by_engine", "aborted",
              "session_failed",   "output_cut",       "server_stopped"};
    return names[static_cast<std::size_t>(reason)];
}

bool is_cut(CloseReason reason) {
    switch (reason) {
        case CloseReason::deadline_expired:
        case CloseReason::write_stalled:
        case CloseReason::queue_overflow:
        case CloseReason::unread_overflow:
        case CloseReason::send_memory_full:
        case CloseReason::output_cut:
            return true;
        default:
            return false;
    }
}

}  // namespace tiderace::net
