#include "tiderace/task/backoff.h"

#include <algorithm>

namespace tiderace::task {

Duration spread(Duration pause, Random& random) {
    const auto half = static_cast<std::uint64_t>(std::max<Duration::rep>(pause.count() / 2, 1));
    // From three quarters to five quarters: clients that were cut off together do not come back
    // together.
    return pause * 3 / 4 + Duration(static_cast<Duration::rep>(random.below(half)));
}

Duration Backoff::next() {
    if (!random_) random_.emplace(Random::with_system_seed());
    pause_ = std::min(pause_ == Duration::zero() ? first_ : pause_ * 2, longest_);
    return spread(pause_, *random_);
}

}  // namespace tiderace::task
