// Internal. Backoff: the pauses between attempts at something that failed. They double from the
// first to the longest and are a little random, so that clients that lost one server do not return
// together.
//
//   Backoff backoff(100ms, 10s);
//   while (!co_await attempt()) co_await sleep(backoff.next());
//   backoff.reset();
//
// Thread   The owner's.
// Keywords: retry, jitter, exponential back-off
#pragma once

#include <algorithm>
#include <optional>

#include "tiderace/base/random.h"
#include "tiderace/base/units.h"

namespace tiderace::task {

// Between three quarters and five quarters of `pause`.
Duration spread(Duration pause, Random& random);

class Backoff final {
  public:
    // A `first` above the longest is the longest.
    Backoff(Duration first, Duration longest) : first_(first), longest_(std::max(first, longest)) {}

    // The pause before the next attempt.
    Duration next();
    // After a success.
    void reset() { pause_ = {}; }

  private:
    Duration first_;
    Duration longest_;
    Duration pause_{};              // the last one, before it was spread; zero: none yet
    std::optional<Random> random_;  // seeded when it is first needed
};

}  // namespace tiderace::task
