// render(): runs a Program over a value and appends what it writes.
//
// Thread   Any; one Program may be rendered by several threads at a time.
// Errors   A Fault: a name that the value does not have, a list where a text is shown, a limit. The
//          output is then as it was before.
// Limits   Limits::output_bytes_max, iterations_max.
// Memory   No allocation but the output's, unless filters make texts.
#pragma once

#include <expected>
#include <string>

#include "tiderace/text/fault.h"
#include "tiderace/text/program.h"
#include "tiderace/text/type.h"

namespace tiderace::text {

// `ways`: for values of the root's type; with others, names are searched for.
std::expected<void, Fault> render(std::string& out, const Program& program, Ref root,
                                  const Ways& ways);

// "Post has title, text and 3 more": what a type has, for messages about what it does not have.
std::string members_text(const Type& type);

}  // namespace tiderace::text
