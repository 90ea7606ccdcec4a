// The members of a table, each read once by what its key is.
//
// Thread   One.
// Errors   Problems, at the key or the value.
#pragma once

#include <functional>
#include <string_view>

#include "server/config/document.h"
#include "server/config/keys.h"
#include "server/config/problems.h"
#include "server/options.h"

namespace tiderace::server::config {

// Reads each member that has a flag into `options`; `own` reads the others, and returns whether it
// knows the key. What neither knows is refused.
void read_table(TableKind kind, const Table& table, ServeOptions& options, const Reading& reading,
                const std::function<bool(const Member&)>& own);

// Refuses each key that the table does not have, and those that are not built yet.
void refuse_unknown(TableKind kind, const Table& table, const Reading& reading);

// The table of that name. nullptr: it is missing, or not a table, which is reported.
const Table* table_in(const Table& table, std::string_view name, const Reading& reading);

// Each table of a list of tables. `at` is where it stands.
void for_each_table(const Table& table, std::string_view name, const Reading& reading,
                    const std::function<void(const Member& at, const Table&)>& each);

}  // namespace tiderace::server::config
