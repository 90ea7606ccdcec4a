// RESP 2 and 3, the protocol of Redis and Valkey: readers and a writer, without a socket.
//
//     #include <tiderace/resp.h>
//     using namespace tiderace;
//
//     // Answers each command with its number of arguments. False: close the connection.
//     bool answer(resp::CommandReader& reader, ByteView in, std::string& out) {
//         resp::Writer writer(out);
//         while (!in.empty()) {
//             switch (reader.read(in)) {
//                 case resp::Progress::complete:
//                     writer.integer(static_cast<std::int64_t>(reader.arguments().size()));
//                     break;
//                 case resp::Progress::more:
//                     return true;
//                 case resp::Progress::fault:
//                     writer.error("ERR " + std::string(to_string(reader.fault())));
//                     return false;
//             }
//         }
//         return true;
//     }
//
// Link `tiderace::resp`. A server reads with CommandReader, a client with ReplyReader; both write
// with Writer. Each header says more: lifetimes, limits, memory.
#pragma once

#include "tiderace/resp/command_reader.h"
#include "tiderace/resp/fault.h"
#include "tiderace/resp/number.h"
#include "tiderace/resp/reply.h"
#include "tiderace/resp/reply_reader.h"
#include "tiderace/resp/writer.h"
