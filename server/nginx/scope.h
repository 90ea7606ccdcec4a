// Scope: what a `server` or a `location` of nginx becomes: a [[site]] or one of its routes.
//
// Directives are taken one after the other; some mean something only together (a realm and its
// file, `allow` and `deny`), so finish() comes last. What would close a path and is not carried
// closes it: to leave out a condition would open what it guards.
//
// Owner    Importer, while it reads the block.
// Thread   One.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "server/config/document.h"
#include "server/config/keys.h"
#include "server/nginx/reader.h"

namespace tiderace::server::nginx {

// What all scopes of one import know.
struct Surroundings {
    const config::DocumentWorld& world;
    std::string folder;                                          // of the first file
    std::vector<std::pair<std::string, std::string>> upstreams;  // with one server each
    bool has_tls = false;
    bool has_dropped = false;              // a directive was not carried
    std::vector<std::string> opened = {};  // what refused requests, and is not carried
};

class Scope {
  public:
    Scope(config::TableKind kind, std::string path, Surroundings& around)
        : kind_(kind), path_(std::move(path)), around_(around) {}

    // A value as TOML; false: the scope has the key already.
    bool set(const std::string& key, std::string value);
    bool has(std::string_view key) const;
    void note(const std::string& comment) { comments_.push_back(comment); }
    // A comment with the place of the directive, and of all in its block.
    void drop(const Directive& directive, std::string_view reason = {});
    void mark_built_in(const Directive& directive);
    // What it does here and did not there, or the other way.
    void miss(const std::string& what);

    static bool is_built_in(std::string_view name);
    // Whether a directive of this name controls access.
    static bool is_guard(std::string_view name);

    // False: no directive of a server or a location that this knows.
    bool take(const Directive& directive);
    void finish(const Scope* site);
    // Whom it was open to is not carried: nobody may enter.
    void close(std::string_view reason);
    bool answers() const;

    void set_hosts(std::vector<std::string> hosts) { hosts_ = std::move(hosts); }
    const std::string& root() const { return root_; }
    const std::string& path() const { return path_; }
    // The lines of its table, without the header; comments first.
    std::string text() const;
    std::string comments() const;
    bool has_settings() const { return !settings_.empty(); }

    // `rewrite` and `return` that lead elsewhere.
    std::optional<std::string> target_of(std::string_view text) const;

  private:
    bool take_files(const Directive& directive);
    bool take_answers(const Directive& directive);
    bool take_access(const Directive& directive);
    bool take_programs(const Directive& directive);
    void take_return(const Directive& directive);
    void take_try_files(const Directive& directive);
    void take_error_page(const Directive& directive);
    void take_header(const Directive& directive);
    void take_log(const Directive& directive);
    void finish_access(const Scope* site);
    std::string absolute(const std::string& file) const;
    bool is_site() const { return kind_ == config::TableKind::site; }

    config::TableKind kind_;
    std::string path_;  // of a route: "/api", "=/x", "*.php"; "" for the site
    Surroundings& around_;
    std::vector<std::string> hosts_;
    std::vector<std::pair<std::string, std::string>> settings_;
    std::vector<std::string> comments_;
    std::string root_;
    std::string expires_;
    std::string cache_control_;
    std::string realm_;
    std::string users_;
    std::vector<Directive> guards_;  // allow, deny and other directives that control access
};

}  // namespace tiderace::server::nginx
