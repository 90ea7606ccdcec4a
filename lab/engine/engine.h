// Engines: every way of building a server that the lab compares, as one table. The project's own
// HTTP code runs unchanged on each; an engine is a ThreadingModel around a core::Backend.
//
// A new engine is a file of its own beside this one and a row of the table in engine.cc.
//
// Thread   Constants; any.
#pragma once

#include <memory>
#include <span>
#include <string_view>

#include "lab/engine/threading_model.h"

namespace tiderace::lab::engine {

struct Engine {
    std::string_view name;
    // Three sentences: how it works, its cost, and its limits or differences.
    std::string_view what;
    // Why it cannot be had here, in half a sentence; "" where it can. nullptr: it always can.
    std::string_view (*absent)() = nullptr;
    // nullptr: one of core's, in the server's own threading_model.
    std::unique_ptr<ThreadingModel> (*arrange)() = nullptr;

    std::string_view why_absent() const { return absent != nullptr ? absent() : ""; }
    std::unique_ptr<ThreadingModel> make() const;
};

// In the order of the report.
std::span<const Engine> engines();
// nullptr: there is none of this name.
const Engine* find_engine(std::string_view name);

}  // namespace tiderace::lab::engine
