// Internal. HandshakeCounters: how the handshakes of one context went.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "tiderace/base/language.h"

namespace tiderace::tls {

enum class HandshakeFailure : std::uint8_t {
    plain_http,          // clear text HTTP on the TLS port
    not_tls,             // anything else that is not TLS
    protocol_version,    // too old a TLS
    no_shared_cipher,    // nor group, nor signature
    no_shared_protocol,  // ALPN
    certificate,         // none given where one is required, or one that does not verify
    peer_alert,          // the peer refused, in order: it does not trust our certificate
    peer_gone,           // it closed or reset in the middle
    deadline,            // handshake_timeout
    bad_message,         // against the protocol
    no_memory,           // ours ran out: this connection was closed
    count_
};
std::string_view to_string(HandshakeFailure failure);
std::string_view sentence_of(HandshakeFailure failure);  // for people

struct HandshakeCounters {
    std::uint64_t done = 0;     // resumed ones included
    std::uint64_t resumed = 0;  // of these
    std::array<std::uint64_t, static_cast<std::size_t>(HandshakeFailure::count_)> failed{};

    std::uint64_t failures(HandshakeFailure why) const {
        return failed[static_cast<std::size_t>(why)];
    }
};

}  // namespace tiderace::tls
