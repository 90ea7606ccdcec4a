#include "tiderace/net/close_reason.h"

#include "tiderace/base/enum_names.h"

namespace tiderace::net {

std::string_view to_string(CloseReason reason) {
    return enum_name(reason);
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
