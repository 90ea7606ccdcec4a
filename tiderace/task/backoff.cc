#include "tiderace/task/backoff.h"

#include <algorithm>

namespace tiderace::task {

Duration spread(Duration pause, Random& random) {
    const auto half = static_cast<std::uint64_t>(std::max<Duration::rep>(pause.count() / 2, 1));
    // From three quarters to five quarters: clients that were cut off together do not come back
    // together.
    const Duration least = pause / 4 * 3 + pause % 4 * 3 / 4;
    const Duration more(static_cast<Duration::rep>(random.below(half)));
    return more < Duration::max() - least ? least + more : Duration::max();  // "never"
}

Duration Backoff::next() {
    if (!random_) random_.emplace(Random::with_system_seed());
    // Compared before it is doubled, which would overflow where the longest is "never".
    const Duration next = pause_ < longest_ / 2 ? pause_ * 2 : longest_;
    pause_ = std::min(pause_ == Duration::zero() ? first_ : next, longest_);
    return spread(pause_, *random_);
}

}  // namespace tiderace::task
