#include "tiderace/http/wire/h2/closed_streams.h"

#include <algorithm>

#include "tiderace/base/check.h"

namespace tiderace::http::wire {
namespace {

// A new number starts as 0: until it closes, the connection's table has it; if it was never opened,
// this is what it stays.
constexpr H2StreamState states[] = {H2StreamState::passed_over, H2StreamState::ended,
                                    H2StreamState::reset_by_peer, H2StreamState::reset_by_us};

std::uint64_t code_of(H2StreamState how) {
    const auto* const found = std::find(std::begin(states), std::end(states), how);
    TR_CHECK(found != std::end(states) && found != std::begin(states), "not a closed state");
    return static_cast<std::uint64_t>(found - std::begin(states));
}

}  // namespace

void H2ClosedStreams::set(std::uint32_t number, std::uint64_t code) {
    const std::size_t place = number % h2_closed_streams_max;
    const std::size_t shift = 2 * (place % in_a_word);
    std::uint64_t& word = codes_[place / in_a_word];
    word = (word & ~(std::uint64_t{3} << shift)) | code << shift;
}

void H2ClosedStreams::open(std::uint32_t stream) {
    TR_CHECK(may_open_h2_stream(stream, highest_), "a stream is opened once, and in order");
    const std::uint32_t last = stream >> 1;
    const std::uint32_t first = highest_ == 0 ? 0 : (highest_ >> 1) + 1;
    if (last - first >= h2_closed_streams_max) {
        codes_ = {};
    } else {
        for (std::uint32_t number = first; number <= last; ++number) set(number, 0);
    }
    highest_ = stream;
}

void H2ClosedStreams::remember(std::uint32_t stream, H2StreamState how) {
    if (!is_forgotten(stream)) set(stream >> 1, code_of(how));
}

H2StreamState H2ClosedStreams::state_of(std::uint32_t stream) const {
    const bool ours_to_open = (stream & 1U) == 0;  // and we never do
    if (stream > highest_ || ours_to_open) return H2StreamState::idle;
    if (is_forgotten(stream)) return H2StreamState::forgotten;
    const std::size_t place = (stream >> 1) % h2_closed_streams_max;
    return states[codes_[place / in_a_word] >> 2 * (place % in_a_word) & 3U];
}

}  // namespace tiderace::http::wire
