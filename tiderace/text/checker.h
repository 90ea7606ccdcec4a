// check(): whether a Program fits a type: every name exists, lists are gone through, texts are
// shown, filters get what they expect. What only the values know (text::Map, text::Value) is left
// for the rendering to find.
//
// Thread   Any.
#pragma once

#include <expected>

#include "tiderace/text/fault.h"
#include "tiderace/text/program.h"
#include "tiderace/text/type.h"

namespace tiderace::text {

std::expected<void, Fault> check(const Program& program, const Type& root);

}  // namespace tiderace::text
