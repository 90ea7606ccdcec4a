// The service without its address: main serves it, the tests call it in memory.
#pragma once

#include <tiderace/app.h>
#include <tiderace/db.h>

#include <string>

// Makes the tables, or brings old ones up to date. Returns 0, as main does.
tiderace::Task<int> prepare(tiderace::db::Database db);

// `reload`: templates are read again for each page.
tiderace::http::App make_todo(const tiderace::db::Database& db, const std::string& password,
                              bool reload = false);
