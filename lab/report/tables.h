// Tables of the report, as rows of text: the same ones for HTML and for Markdown.
//
// Thread   Any: pure functions.
#pragma once

#include <string>
#include <vector>

#include "lab/report/pictures.h"

namespace tiderace::lab::report {

struct Table {
    std::vector<std::string> heads;
    std::vector<std::vector<std::string>> rows;
    std::vector<bool> is_number;          // for each column: set to the right
    std::vector<std::string> links = {};  // for each row, where its first cell leads; empty: none

    bool empty() const { return rows.empty(); }
};

// Every subject against every workload: CPU for each answer as a multiple of the floor's, or in
// microseconds where there was no floor.
Table glance(const Findings& findings);
// All figures of one workload.
Table figures(const Findings& findings, const Workload& workload);
// This project's claims, checked against this run.
Table claims(const Findings& findings);
Table originals(const Findings& findings);
Table machine(const Findings& findings);
// Name and command, of servers and of loads.
Table commands(const Findings& findings);
Table absences(const Findings& findings);

// "21 servers, 13 workloads, 3 rounds": what the run was, in a line.
std::string run_in_a_line(const Findings& findings);

std::string table_html(const Table& table);
std::string table_markdown(const Table& table);

}  // namespace tiderace::lab::report
