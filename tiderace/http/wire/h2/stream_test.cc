#include "tiderace/http/wire/h2/stream.h"

#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <vector>

namespace tiderace::http::wire {
namespace {

using State = H2StreamState;
using Event = H2StreamEvent;
using Verdict = H2Transition::Verdict;

constexpr std::string_view state_names[] = {"idle",        "open",        "half remote",
                                            "half local",  "ended",       "reset by peer",
                                            "reset by us", "passed over", "forgotten"};

std::string say(const H2Transition& transition) {
    switch (transition.verdict) {
        case Verdict::ok:
            return std::string(state_names[static_cast<std::size_t>(transition.next)]);
        case Verdict::ignore:
            return "-";
        case Verdict::stream_error:
            return "stream " + std::string(to_string(transition.error));
        case Verdict::connection_error:
            return "connection " + std::string(to_string(transition.error));
        case Verdict::misuse:
            break;
    }
    return "misuse";
}

TEST(H2Stream, EveryEventInEveryStateIsAsTheRfcSays) {
    const std::string too_late = "connection STREAM_CLOSED";
    const std::string closed = "stream STREAM_CLOSED";
    const std::string wrong = "connection PROTOCOL_ERROR";
    const std::string no_trailers = "stream PROTOCOL_ERROR";
    struct Row {
        State state;
        std::vector<std::string> by_event;  // in the order of the enum
    };
    const Row rows[] = {
        {State::idle,
         {"open", "half remote", wrong, wrong, wrong, wrong, "idle", "misuse", "misuse"}},
        {State::open,
         {no_trailers, "half remote", "open", "half remote", "reset by peer", "open", "open",
          "half local", "reset by us"}},
        {State::half_closed_remote,
         {closed, closed, closed, closed, "reset by peer", "half remote", "half remote", "ended",
          "reset by us"}},
        {State::half_closed_local,
         {no_trailers, "ended", "half local", "ended", "reset by peer", "half local", "half local",
          "misuse", "reset by us"}},
        {State::ended, {too_late, too_late, too_late, too_late, "-", "-", "-", "misuse", "misuse"}},
        {State::reset_by_peer, {closed, closed, closed, closed, "-", "-", "-", "misuse", "misuse"}},
        {State::reset_by_us, {"-", "-", "-", "-", "-", "-", "-", "misuse", "misuse"}},
        {State::passed_over, {wrong, wrong, too_late, too_late, "-", "-", "-", "misuse", "misuse"}},
        {State::forgotten, {"-", "-", "-", "-", "-", "-", "-", "misuse", "misuse"}},
    };
    ASSERT_EQ(std::size(rows), h2_stream_states);
    for (const Row& row : rows) {
        ASSERT_EQ(row.by_event.size(), h2_stream_events);
        for (std::size_t event = 0; event < h2_stream_events; ++event) {
            const H2Transition found = h2_transition(row.state, static_cast<Event>(event));
            EXPECT_EQ(say(found), row.by_event[event])
                << state_names[static_cast<std::size_t>(row.state)] << ", event " << event;
        }
    }
}

TEST(H2Stream, WhatIsPassedOverOrResetHasAStateToGoTo) {
    for (std::size_t state = 0; state < h2_stream_states; ++state) {
        for (std::size_t event = 0; event < h2_stream_events; ++event) {
            const auto from = static_cast<State>(state);
            const H2Transition found = h2_transition(from, static_cast<Event>(event));
            if (found.verdict == Verdict::ignore) {
                EXPECT_EQ(found.next, from);
            }
            if (found.verdict == Verdict::stream_error) {
                EXPECT_EQ(found.next, State::reset_by_us);
            }
        }
    }
}

TEST(H2Stream, OnlyHigherOddNumbersMayBeOpened) {
    EXPECT_TRUE(may_open_h2_stream(1, 0));
    EXPECT_TRUE(may_open_h2_stream(7, 3));
    EXPECT_TRUE(may_open_h2_stream(0x7fff'ffff, 0x7fff'fffd));
    EXPECT_FALSE(may_open_h2_stream(0, 0));
    EXPECT_FALSE(may_open_h2_stream(2, 0));
    EXPECT_FALSE(may_open_h2_stream(3, 3));
    EXPECT_FALSE(may_open_h2_stream(1, 3));
}

}  // namespace
}  // namespace tiderace::http::wire
