// tiderace lab report DIR: reads the results of a run and writes what people look at beside them:
// index.html, one page with everything in it, and report.md.
//
// Thread   main's.
// Errors   One line on standard error. Returns the exit status: 0, 1 where a file cannot be read or
//          written, 2 where the words are wrong.
#pragma once

#include <string>

#include "lab/report/results.h"
#include "tiderace/base/result.h"

namespace tiderace::lab::report {

struct ReportOptions {
    std::string folder;
};

int report(const ReportOptions& options);

// Both pages, from results in hand.
Result<> write_report(const std::string& folder, Results results);

}  // namespace tiderace::lab::report
