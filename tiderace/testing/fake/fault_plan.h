// FaultPlan: how badly the fake network behaves, as named odds. One seed, one run.
//
// Odds are in 10,000 and are drawn once a call. All zero: a perfect network.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "tiderace/base/units.h"

namespace tiderace::testing {

struct FaultPlan {
    using Odds = std::uint32_t;
    static constexpr Odds always = 10'000;

    std::uint64_t seed = 1;

    Odds short_receive = 0;             // part of what is there
    Odds short_send = 0;                // part of what there is room for
    Odds receive_again = 0;             // EAGAIN though there are bytes
    Odds send_again = 0;                // EAGAIN though there is room
    Odds send_no_buffers = 0;           // ENOBUFS
    Odds interrupted = 0;               // EINTR, from every call that may block
    Odds accept_aborted = 0;            // ECONNABORTED: the peer gave up while it was queued
    Odds accept_no_descriptor = 0;      // EMFILE or ENFILE
    Odds receive_reset = 0;             // ECONNRESET
    Odds send_reset = 0;                // EPIPE
    Odds file_shrinks = 0;              // a file ends before the range that is being sent
    Odds spurious_ready = 0;            // the poller says ready, and it is not
    std::size_t buffer_bytes = 64_KiB;  // each direction of each connection
    Duration delay_max{};               // until the other side sees what happened

    // Some faults at some odds, different ones for each seed, so that a run shows also what a
    // single fault does while all else works. A quarter of the seeds have none.
    static FaultPlan from_seed(std::uint64_t seed);
    // What is not zero, for a failure's text.
    std::string describe() const;
};

}  // namespace tiderace::testing
