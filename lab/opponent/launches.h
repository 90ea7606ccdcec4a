// How each opponent is started: the words of its command and its config.
//
// Tuned as bench/servers.py is: keep-alive without end, sendfile, no access log, room for the
// connections of the plan. Every path in a config lies in the temporary folder or in the plan.
//
// Thread   Any: pure functions.
#pragma once

#include <cstdint>
#include <string>

#include "lab/opponent/opponent.h"
#include "lab/server_process.h"

namespace tiderace::lab::opponent {

// For HAProxy's config: its one answer has to fit, and the usual 16 KiB do not hold the middle
// file.
inline constexpr std::uint64_t haproxy_buffer_bytes = 65'536;
inline constexpr std::uint64_t haproxy_answer_bytes_max = haproxy_buffer_bytes - 4'096;  // its head

ServerLaunch launch_evhttp(const OpponentStart& start);
ServerLaunch launch_evhttp_sendfile(const OpponentStart& start);
ServerLaunch launch_asio_http(const OpponentStart& start);
ServerLaunch launch_nginx(const OpponentStart& start);
ServerLaunch launch_lighttpd(const OpponentStart& start);
ServerLaunch launch_h2o(const OpponentStart& start);
ServerLaunch launch_apache(const OpponentStart& start);
ServerLaunch launch_caddy(const OpponentStart& start);
ServerLaunch launch_haproxy(const OpponentStart& start);
ServerLaunch launch_floor(const OpponentStart& start);
ServerLaunch launch_floor_sendfile(const OpponentStart& start);

}  // namespace tiderace::lab::opponent
