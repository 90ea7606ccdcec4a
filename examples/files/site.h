// The service without its address: main serves it, the tests drive it in memory.
#pragma once

#include <tiderace/app.h>

#include <memory>
#include <string>
#include <vector>

#include "examples/files/uploads.h"

// `hosts`: the names of this server, besides its IP addresses and localhost.
tiderace::http::App make_files(const std::shared_ptr<Uploads>& uploads,
                               const std::vector<std::string>& hosts = {});
