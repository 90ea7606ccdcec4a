// CloseReason: why a connection ended, told once to its Session and counted by its server.
#pragma once

#include <cstdint>
#include <string_view>

namespace tiderace::net {

enum class CloseReason : std::uint8_t {
    finished,           // we ended it after everything was sent
    peer_finished,      // the peer's orderly end; all we queued reached the kernel
    peer_reset,         // RST, or the stream was cut
    idle_expired,       // the Session's deadline passed while it waited for the next request
    deadline_expired,   // another deadline of the Session passed
    write_stalled,      // the peer took less than ConnectionLimits asks for
    queue_overflow,     // peer too slow: the queue would pass queue_bytes_max
    unread_overflow,    // the Session used too little of unread_bytes_max waiting bytes
    source_shrank,      // a file became shorter while it was sent, so its length was a lie
    send_memory_full,   // unsent bytes of all connections passed their limit; it held most
    refused_by_engine,  // the engine cannot hold it (select's descriptor bound)
    aborted,            // abort() was called
    server_stopped,     // the server stopped before it was done
    count_              // how many reasons there are
};
std::string_view to_string(CloseReason reason);
// Whether the peer broke a limit, so that it has no claim to what the kernel would go on keeping
// for it, for minutes: it is reset. All others get what was sent, and an end in order.
bool is_cut(CloseReason reason);

}  // namespace tiderace::net
