// How a site or a route has its files: the keys that name folders, and the path of a file.
//
// Thread   One.
// Errors   Problems, with their places.
#pragma once

#include <string>
#include <string_view>

#include "server/config/document.h"
#include "server/config/keys.h"
#include "server/options.h"

namespace tiderace::server::config {

// Whether a text of such a route may have its variables (server/site/variables.h).
bool has_sound_variables(std::string_view text, const http::RouteMatch& match, Place at,
                         const Reading& reading);

class FilesReader {
  public:
    explicit FilesReader(const Reading& reading) : reading_(reading) {}

    // False: the key is about something else.
    bool read(TableKind kind, const Member& member, Route& route, ServeOptions& options);
    // Keys that contradict one another.
    void check(const Table& table, const Route& route);

  private:
    void read_root(const Member& member, TableKind kind, Route& route, ServeOptions& options);
    void read_index(const Member& member, ServeOptions& options);
    void read_path(const Member& member, Route& route);
    void read_tries(const Member& member, Route& route);

    Reading reading_;
};

}  // namespace tiderace::server::config
