// The version of Tiderace, for the preprocessor and for messages.
//
//   #if TIDERACE_VERSION < TIDERACE_VERSION_OF(0, 2, 0)
//
//   TIDERACE_VERSION_MAJOR, _MINOR, _PATCH   three numbers
//   TIDERACE_VERSION                         all three as one, for comparisons
//   TIDERACE_VERSION_TEXT                    "0.1.0"
//
// docs/stable.md explains what a version promises. CMake reads the text from here.
#pragma once

#include "tiderace/base/language.h"

#define TIDERACE_VERSION_MAJOR 0
#define TIDERACE_VERSION_MINOR 1
#define TIDERACE_VERSION_PATCH 0
#define TIDERACE_VERSION_TEXT "0.1.0"

#define TIDERACE_VERSION_OF(major, minor, patch) ((major) * 1'000'000 + (minor) * 1'000 + (patch))
#define TIDERACE_VERSION \
    TIDERACE_VERSION_OF(TIDERACE_VERSION_MAJOR, TIDERACE_VERSION_MINOR, TIDERACE_VERSION_PATCH)
