// Internal. HandshakeCounters: how the handshakes of one context went. add_handshakes(): the counts
// of a server's loops together, on a page for a monitoring system.
//
//   tiderace_tls_handshakes_total{version,result,resumed}
//   tiderace_tls_handshake_duration_seconds        of complete handshakes, from accept on
//
// Owner    The context.
// Thread   Its loop's writes; any reads.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string_view>

#include "tiderace/base/language.h"
#include "tiderace/metrics/buckets.h"

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
    struct Done {
        LoopCount full;
        LoopCount resumed;
    };
    Done tls_1_2;
    Done tls_1_3;
    metrics::Durations durations;
    std::array<LoopCount, static_cast<std::size_t>(HandshakeFailure::count_)> failed{};

    std::uint64_t done() const { return tls_1_2.full + tls_1_3.full + resumed(); }
    std::uint64_t resumed() const { return tls_1_2.resumed + tls_1_3.resumed; }
    std::uint64_t failures(HandshakeFailure why) const {
        return failed[static_cast<std::size_t>(why)];
    }
};

void add_handshakes(metrics::Page& page, std::span<const HandshakeCounters* const> loops);

}  // namespace tiderace::tls
