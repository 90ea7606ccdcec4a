// ServedFolder: files of a folder as a foreign HTTP server needs them: opened for each request,
// never from outside the folder.
//
// As a careful user of such a library would write it: one open and one fstat a request, no
// cache. The path is made and the file opened by the same functions as Tiderace's own.
//
// Thread   find() any; no state beside the folder's descriptor.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "tiderace/base/result.h"
#include "tiderace/core/kernel.h"
#include "tiderace/http/wire/mime.h"

namespace tiderace::lab::opponent {

struct ServedFile {
    int status = 0;         // 200, 301, 400, 403, 404 or 503
    core::Descriptor file;  // with 200
    std::uint64_t bytes = 0;
    std::string_view type;
    std::string location;  // with 301
};

class ServedFolder final {
  public:
    static Result<ServedFolder> open(const std::string& path);

    // `path` as the peer sent it, escapes and all, with or without its query. A folder is its
    // index.html.
    ServedFile find(std::string_view path) const;

  private:
    explicit ServedFolder(core::Descriptor folder) : folder_(std::move(folder)) {}

    core::Descriptor folder_;
    http::wire::MimeTable types_;
};

}  // namespace tiderace::lab::opponent
