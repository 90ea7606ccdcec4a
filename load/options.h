// LoadOptions: all settings of `tiderace load`, as plain data with defaults. The flag of
// each field, its unit and its description are in server/command_line/load_flags.cc.
//
// Thread   Plain data: written before the workers start, read-only after.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tiderace/base/ascii.h"
#include "tiderace/base/units.h"

namespace tiderace::load {

enum class LoadHttp : std::uint8_t { v1_0, v1_1, v2 };

constexpr std::string_view to_string(LoadHttp http) {
    return http == LoadHttp::v1_0 ? "1.0" : http == LoadHttp::v1_1 ? "1.1" : "2";
}

// The part that a slow sender sends slowly.
enum class LoadSlowPart : std::uint8_t { all, head, body };

constexpr std::string_view to_string(LoadSlowPart part) {
    return part == LoadSlowPart::all ? "all" : part == LoadSlowPart::head ? "head" : "body";
}

// Schemes have no case (RFC 3986, 3.1).
constexpr bool has_scheme(std::string_view url, std::string_view scheme) {
    return url.find("://") == scheme.size() && starts_with_ignoring_case(url, scheme);
}

struct LoadOptions {
    std::string url;

    // Amount.
    std::uint64_t connections = 100;
    Duration duration = Duration::zero();  // 0: 10 s, or until `requests` are answered
    std::uint64_t requests = 0;            // 0: no bound
    std::uint64_t rate = 0;                // requests a second, all together; 0: closed loop
    Duration ramp = Duration::zero();      // connections (the rate, if there is one) rise this long

    // The request.
    LoadHttp http = LoadHttp::v1_1;
    std::string method;               // "": GET, or POST with a body
    std::vector<std::string> fields;  // "Name: value"
    std::optional<std::string> host;  // in place of the URL's, as the Host field has it
    std::uint64_t body_bytes = 0;     // of each request
    std::string body_file;            // its contents are the body; "": a generated one
    std::string body;                 // what run_load() read from body_file
    bool close = false;               // a connection for each request
    std::uint64_t pipeline = 1;       // requests under way on a connection of HTTP/1
    std::uint64_t streams = 1;        // ... of HTTP/2

    // HTTPS.
    bool insecure = false;  // any certificate will do
    std::string ca;         // PEM file of those to trust; "": the system's
    bool resume = false;    // sessions: a connection after the first makes a short handshake

    // Clients.
    Duration think = Duration::zero();   // after each answer
    std::uint64_t slow_readers = 0;      // percent of the connections
    std::uint64_t slow_rate = 16_KiB;    // bytes a second that a slow reader reads
    std::uint64_t slow_senders = 0;      // percent of the connections, others than those
    std::uint64_t slow_send_rate = 100;  // bytes a second that a slow sender sends
    LoadSlowPart slow_drips = LoadSlowPart::all;
    std::uint64_t source_addresses = 0;  // in 127/8; 0: as many as the connections need
    Duration timeout = 10s;              // for an answer, and for a connection
    bool i_own_this_host = false;

    // Expected answers.
    std::uint64_t expect_status = 200;
    std::optional<std::uint64_t> expect_length;  // none: as the first answer's
    bool check_hash = false;
    std::optional<std::uint32_t> expect_hash;  // CRC-32; none: as the first answer's

    // The run itself, and its report.
    std::uint64_t threads = 0;    // loops of a process; 0: half of the CPUs, at least one
    std::uint64_t processes = 1;  // descriptors are limited for each
    std::string engine = "auto";
    std::uint64_t server_pid = 0;  // 0: the listening processes
    bool json = false;

    // Not HTTP: the server returns the bytes that it receives.
    bool echoes() const { return has_scheme(url, "echo"); }
    Duration run_time() const {
        if (duration > Duration::zero()) return duration;
        return requests > 0 ? Duration::max() : Duration(10s);
    }
    std::string_view verb() const {
        if (echoes()) return "";
        if (!method.empty()) return method;
        return body_bytes > 0 ? "POST" : "GET";
    }
    // Loops, or processes, that can each have a connection, and a request where those are counted.
    std::uint64_t loops_max() const {
        return requests > 0 ? std::min(connections, requests) : connections;
    }
    // Requests that may be under way on one connection.
    std::uint64_t depth() const { return http == LoadHttp::v2 ? streams : pipeline; }
};

}  // namespace tiderace::load
