// The report as Markdown: the same tables and texts as the page, without its pictures.
//
// Thread   Any: pure.
#pragma once

#include <string>

#include "lab/report/pictures.h"

namespace tiderace::lab::report {

std::string markdown(const Findings& findings);

}  // namespace tiderace::lab::report
