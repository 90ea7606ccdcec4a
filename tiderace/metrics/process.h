// Internal. The standard metrics of a process: its processor time, memory and descriptors, and its
// start.
//
// Thread   Any.
// Errors   What the system does not report (no /proc) is left out.
#pragma once

#include "tiderace/metrics/page.h"

namespace tiderace::metrics {

void add_process(Page& page);

}  // namespace tiderace::metrics
