#include "lab/report/results.h"

#include "tiderace/base/enum_names.h"

namespace tiderace::lab::report {

std::string_view to_string(CellState state) {
    return enum_name(state);
}

bool has_figures(CellState state) {
    return state == CellState::ok || state == CellState::refused || state == CellState::starved;
}

std::string_view to_string(SubjectKind kind) {
    return enum_name(kind);
}

}  // namespace tiderace::lab::report
