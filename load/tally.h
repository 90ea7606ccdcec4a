// Load tally: what came of a run, counted by each worker and added up at the end.
//
// Thread   One; merge several threads' tallies afterwards.
// Memory   Two histograms, 70 KiB.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <string_view>

#include "load/latency_histogram.h"

namespace tiderace::load {

// The faults of a request. The first are wrong answers; the others are none at all.
enum class LoadError : std::uint8_t {
    wrong_status,
    wrong_length,
    wrong_hash,
    not_http,      // LoadTally::fault names the fault
    unasked,       // bytes that belong to no request
    cut_short,     // the connection ended in order, inside an answer
    closed_early,  // … before the first byte of the answer
    reset,
    timed_out,
    stream_reset,  // HTTP/2: this request alone
    turned_away,   // 503 before any request: the server has no room
    count_
};
std::string_view to_string(LoadError error);

// The outcome of an attempt to connect.
enum class ConnectError : std::uint8_t {
    refused,
    reset,
    timed_out,
    no_port,
    no_descriptor,
    other,
    tls,          // the handshake failed
    no_protocol,  // it does not speak the requested HTTP version
    count_
};
std::string_view to_string(ConnectError error);

struct LoadTally {
    LatencyHistogram latency;       // of right answers; from the intended moment in an open loop
    LatencyHistogram slow_latency;  // of slow readers and senders, apart
    std::uint64_t answers = 0;      // right ones
    std::uint64_t sent = 0;
    std::uint64_t body_bytes = 0;
    std::uint64_t received_bytes = 0;
    std::uint64_t sent_bytes = 0;
    std::uint64_t unanswered = 0;          // under way when the run ended
    std::uint64_t never_sent = 0;          // due in an open loop, but no connection was free
    Duration late_max = Duration::zero();  // how far behind its schedule an open loop sent
    std::array<std::uint64_t, static_cast<std::size_t>(LoadError::count_)> errors{};

    std::uint64_t connections = 0;  // asked for
    std::uint64_t opened = 0;       // in all
    std::uint64_t open_max = 0;     // at one time; of several loops an upper bound
    std::array<std::uint64_t, static_cast<std::size_t>(ConnectError::count_)> connect_errors{};
    std::uint64_t resets = 0;   // connections that were reset, open or while opening
    std::uint64_t starved = 0;  // connections that got no right answer
    std::uint64_t per_connection_min = UINT64_MAX;
    std::uint64_t per_connection_max = 0;

    // The first right answer, with which the others were compared.
    struct Reference {
        bool known = false;
        std::uint64_t length = 0;
        std::uint32_t hash = 0;
        bool operator==(const Reference&) const = default;
    };
    Reference reference;
    bool references_differ = false;  // between workers
    std::string_view fault;          // the first one, in words that live for ever
    std::uint16_t wrong_status = 0;  // the first one

    std::uint64_t& error(LoadError kind) { return errors[static_cast<std::size_t>(kind)]; }
    std::uint64_t& error(ConnectError kind) {
        return connect_errors[static_cast<std::size_t>(kind)];
    }
    std::uint64_t requests_min() const { return connections > 0 ? per_connection_min : 0; }
    std::uint64_t errors_total() const;
    // An answer came that is not the right one. A 503 is none of these: the server has no room.
    bool is_wrong_answer(LoadError kind) const;
    std::uint64_t wrong_answers() const;
    std::uint64_t connect_errors_total() const;
    void merge(const LoadTally& other);
};

}  // namespace tiderace::load
