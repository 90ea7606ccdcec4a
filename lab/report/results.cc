#include "lab/report/results.h"

#include <algorithm>
#include <array>

namespace tiderace::lab::report {
namespace {

// By the number of the state. They are written to results.json, so a new name makes old files
// unreadable.
constexpr std::array<std::string_view, 8> state_names{"ok",    "refused", "starved", "skipped",
                                                      "wrong", "failed",  "hung",    "died"};
constexpr std::array<std::string_view, 3> kind_names{"engine", "opponent", "floor"};

}  // namespace

std::string_view to_string(CellState state) {
    return state_names[static_cast<std::size_t>(state)];
}

std::optional<CellState> cell_state(std::string_view name) {
    const auto found = std::ranges::find(state_names, name);
    if (found == state_names.end()) return std::nullopt;
    return static_cast<CellState>(found - state_names.begin());
}

bool has_figures(CellState state) {
    return state == CellState::ok || state == CellState::refused || state == CellState::starved;
}

std::string_view to_string(SubjectKind kind) {
    return kind_names[static_cast<std::size_t>(kind)];
}

}  // namespace tiderace::lab::report
