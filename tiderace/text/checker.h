// check(): whether a Program fits a type: every name exists, lists are gone through, texts are
// shown, filters get what they expect. Dynamic values (text::Map, text::Value) are left
// for rendering to check.
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
