// The service without where it listens: main serves it, the tests ask it in memory.
#pragma once

#include <tiderace/app.h>

#include <string>

// `reload`: templates are read again for each page.
tiderace::http::App make_todo(const std::string& password, bool reload = false);
