// One [[site]] and its routes, as the options that flags would fill for it alone.
//
// Thread   One.
// Errors   Problems, with their places.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "server/config/config.h"
#include "server/config/document.h"
#include "server/config/keys.h"
#include "server/config/problems.h"

namespace tiderace::server::config {

class SiteReader {
  public:
    // `top` has [users] and [preset]; `server` is what all sites share. Both outlive this.
    SiteReader(const Table& top, const ServeOptions& server, const Reading& reading);

    SiteConfig read(Place at, const Table& table);

  private:
    // What a table of a site or a route says, for the path that it is about: "" for the site.
    struct Scope {
        TableKind kind;
        std::string path;  // as a flag has it: "/api"
        bool only_itself = false;
        Place at;

        // As the rules of PathOptions have it.
        std::string rule_path() const {
            if (only_itself) return "=" + path;
            return path == "/" ? "" : path;
        }
    };

    void check_presets();
    void read_hosts(const Member& member, SiteConfig& site);
    void read_settings(const Scope& scope, const Table& table, ServeOptions& options);
    void use_presets(const Scope& scope, const Table& table, ServeOptions& options);
    bool read_own(const Scope& scope, const Member& member, ServeOptions& options);
    const Member* answering_key(const Table& table);
    void read_redirect(const Scope& scope, const Member& key, int status, ServeOptions& options);
    void read_deny(PathAnswer answer, const Member& key, ServeOptions& options);
    std::optional<Scope> read_path(const Value& value, const Table& route);
    void read_route(const Table& table, Place at, ServeOptions& options);
    void check_answered(const Scope& scope, const Table& route);
    void read_index(const Member& member, ServeOptions& options);
    void read_error_pages(const Scope& scope, const Member& member, ServeOptions& options);
    void find_error_pages(ServeOptions& options);
    void read_response(const Scope& scope, const Member& member, ServeOptions& options);
    void read_auth(const Scope& scope, const Member& member, ServeOptions& options);
    void read_password_file(const Scope& scope, const Value& value, ServeOptions& options);
    void read_rate(const Scope& scope, const Member& member, ServeOptions& options);
    void read_answer(const Scope& scope, const Table& table, ServeOptions& options);
    void read_programs(const Scope& scope, const Member& member, ServeOptions& options);
    void read_path_flag(const Scope& scope, std::string_view flag, std::string_view value, Place at,
                        ServeOptions& options);

    const Table* top_;
    const ServeOptions* server_;
    Reading reading_;
    std::map<std::string, Place> answered_;  // paths of routes of the site, without its files
    std::vector<Place> page_places_;         // of the error pages of the site
};

}  // namespace tiderace::server::config
