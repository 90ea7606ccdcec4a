// check(): whether a Program fits a type: every name exists, lists are gone through, texts are
// shown, filters get what they expect. Dynamic values (text::Map, text::Value) are left
// for rendering to check. It notes in the program which member each name is, so that values of that
// type are rendered without a search.
//
// Thread   Any.
#pragma once

#include <expected>

#include "tiderace/text/fault.h"
#include "tiderace/text/program.h"
#include "tiderace/text/type.h"

namespace tiderace::text {

std::expected<void, Fault> check(Program& program, const Type& root);

// The ways of the paths that fit the type, up to the first that does not: for values of a type that
// the program was not checked for.
Ways find_ways(const Program& program, const Type& root);

}  // namespace tiderace::text
