#include "tiderace/http/wire/h2/early_priorities.h"

#include <algorithm>
#include <iterator>

namespace tiderace::http::wire {

bool H2EarlyPriorities::keep(std::uint32_t stream, H2Priority priority, std::size_t streams_max) {
    const auto at = std::ranges::lower_bound(early_, stream, {}, &Early::stream);
    if (at != early_.end() && at->stream == stream) {
        at->priority = priority;
        return true;
    }
    if (early_.size() >= streams_max) return false;
    early_.insert(at, {stream, priority});
    return true;
}

std::optional<H2Priority> H2EarlyPriorities::take(std::uint32_t stream) {
    if (early_.empty()) return {};
    const auto behind = std::ranges::upper_bound(early_, stream, {}, &Early::stream);
    std::optional<H2Priority> found;
    if (behind != early_.begin() && std::prev(behind)->stream == stream) {
        found = std::prev(behind)->priority;
    }
    // Streams are opened in order, so those below will never be opened (RFC 9113, 5.1.1).
    early_.erase(early_.begin(), behind);
    // clear() would keep the memory for the life of the connection.
    if (early_.empty()) std::vector<Early>().swap(early_);
    return found;
}

}  // namespace tiderace::http::wire
