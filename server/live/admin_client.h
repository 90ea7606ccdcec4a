// `tiderace reload` and `tiderace status`: one request to the admin socket of a server that runs
// (admin_socket.h).
//
// Thread   Main; blocks.
// Errors   One sentence on standard error, and the exit status.
// Limits   answer_bytes_max; patience.
#pragma once

#include <cstddef>
#include <expected>
#include <string>
#include <string_view>

#include "server/command_line/command_line.h"
#include "tiderace/base/result.h"
#include "tiderace/base/units.h"

namespace tiderace::server {

struct AdminClient {
    static constexpr std::size_t answer_bytes_max = 16u << 20;
    // While nothing is received: a reading hashes passwords, and looks at many files.
    static constexpr Duration patience = 60s;
};

struct AdminAnswer {
    int status = 0;
    std::string body;
};
Result<AdminAnswer> ask(const std::string& socket, std::string_view request_line);
// The socket of --socket, or of the file. Otherwise the reason was reported, and this is the exit
// status.
std::expected<std::string, int> socket_of(const CommandWords& words);
// The sentence about an answer of a status that was not expected.
std::string strange_answer(const std::string& socket, int status);

// The exit status: 0; 1 where the reload was refused; 2 where no server answers, or the file does
// not say where.
int ask_server(const FileTool& tool);

}  // namespace tiderace::server
