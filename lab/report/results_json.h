// The results as JSON, and back: the file results.json of a run. docs/lab/measuring.md explains
// each member.
//
// Thread   Any: pure functions, and two that touch a file.
// Errors   A text that is not JSON, not of this format, or of another version of it: a sentence.
// Limits   results_bytes_max; 16 levels, 4,000,000 elements.
#pragma once

#include <cstddef>
#include <expected>
#include <string>
#include <string_view>

#include "lab/report/results.h"
#include "tiderace/base/result.h"

namespace tiderace::lab::report {

inline constexpr std::size_t results_bytes_max = std::size_t{64} << 20;

std::string results_json(const Results& results);
std::expected<Results, std::string> parse_results(std::string_view text);

inline constexpr std::string_view results_name = "results.json";
inline constexpr std::string_view page_name = "index.html";
inline constexpr std::string_view markdown_name = "report.md";
// In a folder. Written beside it first, so that it is whole or not there.
Result<> write_file(const std::string& folder, std::string_view name, std::string_view text);
// That it takes a run's report, before half an hour is spent on one: as much is written, and
// removed.
Result<> try_folder(const std::string& folder);
// Which of a run's files stands there already; "" for none.
std::string result_in(const std::string& folder);
std::expected<Results, std::string> read_results(const std::string& folder);

}  // namespace tiderace::lab::report
