// One [[site]] and its routes, as the options that flags would fill for it alone.
//
// Thread   One.
// Errors   Problems, with their places.
#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "server/config/config.h"
#include "server/config/document.h"
#include "server/config/files_reader.h"
#include "server/config/keys.h"
#include "server/config/problems.h"
#include "server/config/route_reader.h"

namespace tiderace::server::config {

class SiteReader {
  public:
    // `top` has [users] and [preset]; `server` is what all sites share. Both outlive this.
    SiteReader(const Table& top, const ServeOptions& server, const Reading& reading);

    SiteConfig read(Place at, const Table& table);

  private:
    // Whose settings a table has.
    struct Scope {
        TableKind kind;
        Route* route;  // or what holds for the whole site
        RouteReader* reader;
    };

    void check_presets();
    void read_hosts(const Member& member, SiteConfig& site);
    void read_settings(const Scope& scope, const Table& table, ServeOptions& options);
    void use_presets(const Scope& scope, const Table& table, ServeOptions& options);
    bool read_own(const Scope& scope, const Member& member, ServeOptions& options);
    void read_route(const Table& table, Place at, RouteReader& reader, ServeOptions& options);
    void read_text(Route& route, const Member& member);
    void check_logs(Place at, const ServeOptions& options);
    void read_limit(Route& route, const Member& member);
    void read_canonical_host(const Member& member, ServeOptions& options);
    void read_error_pages(Route& route, const Member& member);
    void find_error_pages(ServeOptions& options);
    void find_content_faults(const ServeOptions& options);
    void report(const ServeOptions& options, const Route* route, std::string_view key,
                const Error& error);
    void read_response(Route& route, const Member& member);
    void read_auth(const Scope& scope, const Member& member);
    void read_password_file(Route& route, const Value& value);
    void read_rate(Route& route, const Member& member);

    const Table* top_;
    const ServeOptions* server_;
    Reading reading_;
    FilesReader files_;
    std::map<std::string, Place> pages_;  // of the site, as they were given
    // Of some keys of the site, by the index of their route.
    std::map<std::pair<std::size_t, std::string_view>, Place> places_;
};

}  // namespace tiderace::server::config
