#include "tiderace/http/wire/h2_closed_streams.h"

#include "tiderace/base/check.h"

namespace tiderace::http::wire {
namespace {

// Two bits; 0 is an empty place.
std::uint32_t code_of(H2StreamState how) {
    switch (how) {
        case H2StreamState::ended:
            return 1;
        case H2StreamState::reset_by_peer:
            return 2;
        case H2StreamState::reset_by_us:
            return 3;
        default:
            TR_CHECK(false, "not a closed state");
            return 0;
    }
}

constexpr H2StreamState states[] = {H2StreamState::unknown, H2StreamState::ended,
                                    H2StreamState::reset_by_peer, H2StreamState::reset_by_us};

}  // namespace

void H2ClosedStreams::remember(std::uint32_t stream, H2StreamState how) {
    closed_[next_] = (stream >> 1) << 2 | code_of(how);
    next_ = (next_ + 1) % closed_.size();
}

H2StreamState H2ClosedStreams::state_of(std::uint32_t stream, std::uint32_t highest) const {
    const bool ours_to_open = (stream & 1U) == 0;  // and we never do
    if (stream > highest || ours_to_open) return H2StreamState::idle;
    for (const std::uint32_t closed : closed_) {
        if (closed >> 2 == stream >> 1 && (closed & 3U) != 0) return states[closed & 3U];
    }
    return H2StreamState::unknown;
}

}  // namespace tiderace::http::wire
