// The service without where it listens: main serves it, the tests drive it in memory.
#pragma once

#include <tiderace/app.h>

#include <memory>

#include "examples/files/uploads.h"

tiderace::http::App make_files(const std::shared_ptr<Uploads>& uploads);
