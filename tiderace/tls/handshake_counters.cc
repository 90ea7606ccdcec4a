#include "tiderace/tls/handshake_counters.h"

namespace tiderace::tls {

std::string_view to_string(HandshakeFailure failure) {
    static constexpr std::array<std::string_view,
                                static_cast<std::size_t>(HandshakeFailure::count_)>
        names{"plain_http",         "not_tls",     "protocol_version", "no_shared_cipher",
              "no_shared_protocol", "certificate", "peer_alert",       "peer_gone",
              "deadline",           "bad_message", "no_memory"};
    return names[static_cast<std::size_t>(failure)];
}

}  // namespace tiderace::tls
