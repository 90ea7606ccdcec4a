// Internal. MimeTable: the Content-Type of a file by the extension of its name, and which types are
// worth compressing.
//
// Owner    The program fills one at start; loops borrow it.
// Thread   One while it is filled; any number of readers after that.
// Errors   add() returns false for what could not stand in a field.
// Limits   extension_bytes_max, type_bytes_max.
// Memory   The user's additions. Looking up allocates nothing.
// Keywords: MIME, Content-Type, media type, charset
#pragma once

#include <string>
#include <vector>

#include "tiderace/base/bytes.h"

namespace tiderace::http::wire {

class MimeTable {
  public:
    static constexpr std::size_t extension_bytes_max = 16;
    static constexpr std::size_t type_bytes_max = 128;

    // Over the built-in types, and over what was added for that extension before. `extension` is in
    // any case, with or without its dot ("md", ".MD"), and without a dot inside; `type` is a whole
    // field value ("text/markdown; charset=utf-8").
    bool add(ByteView extension, ByteView type);

    // By what follows the last dot of the last segment, in any case; "application/octet-stream"
    // where that is not known. A name that only begins with a dot (".profile") has no extension.
    // The view lives as long as the table.
    ByteView type_of(ByteView path) const;

  private:
    struct Addition {
        std::string extension;  // lower case
        std::string type;
    };
    std::vector<Addition> additions_;
};

// Whether bytes of this Content-Type get much smaller. Not for text/event-stream: each event has to
// leave at once.
bool compressible(ByteView type);

// Whether the file's bytes are a gzip of what `type` says: a .svgz is SVG with Content-Encoding.
bool is_stored_as_gzip(ByteView path, ByteView type);

}  // namespace tiderace::http::wire
