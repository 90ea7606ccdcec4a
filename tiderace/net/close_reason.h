// Internal. CloseReason: why a connection ended, reported once to its Session and counted by its
// server.
// Keywords: RST, FIN, disconnect
#pragma once

#include <cstdint>
#include <string_view>

#include "tiderace/base/language.h"

namespace tiderace::net {

enum class CloseReason : std::uint8_t {
    finished,           // we ended it after everything was sent
    peer_finished,      // the peer's orderly end; all we queued reached the kernel
    peer_reset,         // RST, or the stream was cut
    idle_expired,       // the Session's deadline passed while it waited for the next request
    deadline_expired,   // another deadline of the Session passed
    write_stalled,      // the peer took fewer bytes than ConnectionLimits demands
    queue_overflow,     // peer too slow: the queue would pass queue_bytes_max
    unread_overflow,    // the Session used too little of unread_bytes_max waiting bytes
    source_shrank,      // a file became shorter while it was sent, so its length was wrong
    send_memory_full,   // unsent bytes of all connections passed their limit; it held most
    refused_by_engine,  // the engine cannot hold it (select's descriptor bound)
    aborted,            // we gave it up: a fault of ours, or no other reason fits
    session_failed,     // the Session threw an exception, or lacked memory; the log has it
    output_cut,         // the Session cannot complete what it sends, and only a reset shows that
    server_stopped,     // the server stopped before it was done
    count_              // how many reasons there are
};
std::string_view to_string(CloseReason reason);
// Whether the peer is reset: it broke a limit, and the kernel would otherwise keep unsent bytes for
// it, for minutes; or it has to see that a part is missing. All others get what was sent, and an
// orderly end.
bool is_cut(CloseReason reason);

}  // namespace tiderace::net
