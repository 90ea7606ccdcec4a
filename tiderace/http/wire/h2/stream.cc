#include "tiderace/http/wire/h2/stream.h"

#include <array>

namespace tiderace::http::wire {
namespace {

using State = H2StreamState;
using Verdict = H2Transition::Verdict;

constexpr H2Transition go(State next) {
    return {next, Verdict::ok, H2Error::no_error};
}
constexpr H2Transition pass_over(State state) {
    return {state, Verdict::ignore, H2Error::no_error};
}
constexpr H2Transition reset(H2Error error) {
    return {State::reset_by_us, Verdict::stream_error, error};
}
constexpr H2Transition end(H2Error error) {
    return {State::passed_over, Verdict::connection_error, error};
}
constexpr H2Transition misuse() {
    return {State::passed_over, Verdict::misuse, H2Error::internal_error};
}

using Row = std::array<H2Transition, h2_stream_events>;

// A stream on which the peer may still send: `now`, and `then` after its END_STREAM.
constexpr Row receiving(State now, State then, H2Transition sent_end) {
    return {{
        // A second field block is trailers, and those end the stream (8.1).
        /* headers       */ reset(H2Error::protocol_error),
        /* headers_end   */ go(then),
        /* data          */ go(now),
        /* data_end      */ go(then),
        /* rst_stream    */ go(State::reset_by_peer),
        /* window_update */ go(now),
        /* priority      */ go(now),
        /* sent_end      */ sent_end,
        /* sent_rst      */ go(State::reset_by_us),
    }};
}

// A stream on which the peer may not send content any more.
constexpr Row closed(State now, H2Transition content, H2Transition late_headers) {
    return {{
        /* headers       */ late_headers,
        /* headers_end   */ late_headers,
        /* data          */ content,
        /* data_end      */ content,
        /* rst_stream    */ pass_over(now),
        /* window_update */ pass_over(now),
        /* priority      */ pass_over(now),
        /* sent_end      */ misuse(),
        /* sent_rst      */ misuse(),
    }};
}

constexpr Row idle = {{
    /* headers       */ go(State::open),
    /* headers_end   */ go(State::half_closed_remote),
    /* data          */ end(H2Error::protocol_error),
    /* data_end      */ end(H2Error::protocol_error),
    /* rst_stream    */ end(H2Error::protocol_error),
    /* window_update */ end(H2Error::protocol_error),
    /* priority      */ go(State::idle),
    /* sent_end      */ misuse(),
    /* sent_rst      */ misuse(),
}};

// The whole request is here: what the peer may still do is to end it early and to open its window.
constexpr Row half_closed_remote = {{
    /* headers       */ reset(H2Error::stream_closed),
    /* headers_end   */ reset(H2Error::stream_closed),
    /* data          */ reset(H2Error::stream_closed),
    /* data_end      */ reset(H2Error::stream_closed),
    /* rst_stream    */ go(State::reset_by_peer),
    /* window_update */ go(State::half_closed_remote),
    /* priority      */ go(State::half_closed_remote),
    /* sent_end      */ go(State::ended),
    /* sent_rst      */ go(State::reset_by_us),
}};

constexpr H2Transition too_late = end(H2Error::stream_closed);

// In the order of the enum.
constexpr std::array<Row, h2_stream_states> table = {
    idle,
    receiving(State::open, State::half_closed_remote, go(State::half_closed_local)),
    half_closed_remote,
    receiving(State::half_closed_local, State::ended, misuse()),
    closed(State::ended, too_late, too_late),
    closed(State::reset_by_peer, reset(H2Error::stream_closed), reset(H2Error::stream_closed)),
    closed(State::reset_by_us, pass_over(State::reset_by_us), pass_over(State::reset_by_us)),
    // A number that was passed over may not be opened any more (5.1.1).
    closed(State::passed_over, too_late, end(H2Error::protocol_error)),
    // We may have reset it: then the peer is at no fault.
    closed(State::forgotten, pass_over(State::forgotten), pass_over(State::forgotten)),
};

}  // namespace

H2Transition h2_transition(H2StreamState state, H2StreamEvent event) {
    return table[static_cast<std::size_t>(state)][static_cast<std::size_t>(event)];
}

}  // namespace tiderace::http::wire
