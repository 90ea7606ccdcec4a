// Internal. Moments that lie a Duration away, where a Duration may be "never".
#pragma once

#include "tiderace/base/units.h"

namespace tiderace {

// `wait` after `now`. Instant::max(), which no clock reaches, if the sum would be beyond it: so
// Duration::max() in an option means "never".
constexpr Instant moment_after(Instant now, Duration wait) {
    return wait > Duration::zero() && now > Instant::max() - wait ? Instant::max() : now + wait;
}

}  // namespace tiderace
