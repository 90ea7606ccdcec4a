// Internal. The CPU time of this process, or of this thread of it, so far: user and system time.
//
// Thread   Any; each call asks the kernel anew.
// Errors   None: zero where the system counts no such thing (a thread's time, on macOS).
#pragma once

#include "tiderace/base/units.h"

namespace tiderace::metrics {

Duration own_process_cpu();
Duration own_thread_cpu();

}  // namespace tiderace::metrics
