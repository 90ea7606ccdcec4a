// The report as one HTML page that needs nothing else: no script, no request, charts inline.
//
// Thread   Any: pure.
#pragma once

#include <string>

#include "lab/report/pictures.h"

namespace tiderace::lab::report {

std::string page(const Findings& findings);

}  // namespace tiderace::lab::report
