// replay_folder: what the disk holds, executed again: the newest snapshot, and the logs from its
// number on.
//
//   snapshot-7   whole, or the start fails
//   log-7        since that snapshot
//   log-8        since the begin of a snapshot that was not finished; it may end in the middle of a
//                command, which is cut off. So may log-7 while log-8 is empty
//
// Errors   A torn end of the last log is cut off, and reported. Anything else that is no command,
//          or fails, stops the start, with the file and the place.
#pragma once

#include <cstdint>
#include <string>

#include "tiderace/base/result.h"

namespace kv {

class Server;

struct Replayed {
    std::uint64_t snapshot = 0;  // its number; 0: none
    std::uint64_t log = 0;       // the last one's
    std::string text;            // what was found
};

tiderace::Result<Replayed> replay_folder(Server& server, const std::string& folder);
// Snapshots and logs below a number, and unfinished snapshots.
void remove_older(const std::string& folder, std::uint64_t number);

}  // namespace kv
