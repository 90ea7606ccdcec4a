#include "lab/report/report.h"

#include <cstdio>
#include <utility>

#include "lab/report/markdown.h"
#include "lab/report/page.h"
#include "lab/report/results_json.h"

namespace tiderace::lab::report {

// Both pages from one set of findings: a figure that differed between them would discredit both.
Result<> write_report(const std::string& folder, Results results) {
    const Findings findings(std::move(results));
    if (auto written = write_file(folder, page_name, page(findings)); !written) return written;
    return write_file(folder, markdown_name, markdown(findings));
}

int report(const ReportOptions& options) {
    auto results = read_results(options.folder);
    if (!results) {
        std::fprintf(stderr, "tiderace: %s\n", results.error().c_str());
        return 1;
    }
    if (auto written = write_report(options.folder, std::move(*results)); !written) {
        std::fprintf(stderr, "tiderace: %s\n", written.error().message().c_str());
        return 1;
    }
    std::printf("%s/index.html\n%s/report.md\n", options.folder.c_str(), options.folder.c_str());
    return 0;
}

}  // namespace tiderace::lab::report
