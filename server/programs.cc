#include "server/programs.h"

#include <algorithm>
#include <filesystem>
#include <map>
#include <string>
#include <utility>

#include "server/version.h"

namespace tiderace::server {
namespace {

namespace fs = std::filesystem;

// A folder of programs below the served one, under another path than its own there, would be sent
// as files: with what programs keep in their source.
Result<> check_hidden(const ServeOptions& options, const Route& route) {
    std::error_code fault;
    const fs::path root = fs::canonical(options.root, fault);
    const fs::path folder = fs::canonical(route.cgi, fault);
    if (fault) {
        return fail(Error(fault.value(), "serve the programs of", route.cgi,
                          "--cgi PATH=DIR expects the folder of the programs"));
    }
    const fs::path relative = folder.lexically_relative(root);
    const std::string below = relative.generic_string();
    // By its first part: a folder may be called "..x".
    const bool is_outside = relative.empty() || *relative.begin() == "..";
    if (is_outside || "/" + below == route.match.path) return {};
    if (below == ".") {
        // Its path there is the one of all files: the advice below would lead here again.
        return fail(Error(0, "serve the programs of", route.cgi,
                          "it is the served folder, whose files are sent: move the programs to a "
                          "folder outside of it"));
    }
    return fail(Error(0, "serve the programs of", route.cgi,
                      "it is inside the served folder, whose files are sent: move it out, or "
                      "let its path be the one there, /" +
                          below));
}

// The path that requests of this file have; "" for one outside of the served folder.
std::string path_in_root(const ServeOptions& options, const std::string& file) {
    std::error_code fault;
    const fs::path root = fs::canonical(options.root, fault);
    const fs::path relative = fs::weakly_canonical(root / file, fault).lexically_relative(root);
    if (fault || relative.empty() || *relative.begin() == "..") return {};
    return "/" + relative.generic_string();
}

bool is_source(const std::vector<std::string>& sources, std::string_view path) {
    return std::ranges::any_of(sources, [&](const std::string& source) {
        return http::RouteMatch{.path = source}.path_holds(path);
    });
}

Result<std::unique_ptr<http::Handler>> make_cgi(core::EventLoop& loop, const ServeOptions& options,
                                                std::shared_ptr<http::cgi::ProgramPlaces> places,
                                                const Route& route) {
    http::cgi::CgiOptions cgi;
    cgi.prefix = route.match.path;
    cgi.folder = route.cgi;
    cgi.document_root = options.root;
    cgi.rules.timeout = options.cgi.timeout;
    cgi.rules.obeys_scope = true;
    cgi.rules.body_bytes_max = options.limits.body_bytes_max;
    cgi.limits.memory_bytes_max = options.cgi.memory_bytes_max;
    cgi.places = std::move(places);
    cgi.server_software = "tiderace/" + std::string(version());
    auto made = http::cgi::Cgi::create(loop, std::move(cgi));
    if (!made) return fail(made.error());
    return std::unique_ptr<http::Handler>(std::move(*made));
}

Result<std::unique_ptr<http::cgi::FastCgi>> make_fastcgi(core::EventLoop& loop,
                                                         const ServeOptions& options,
                                                         const Route& route) {
    http::cgi::FastCgiOptions fastcgi;
    fastcgi.pattern = route.match.plain_path();
    fastcgi.address = *route.fastcgi;
    fastcgi.root = options.root;
    fastcgi.index = options.index;
    fastcgi.rules.timeout = options.cgi.timeout;
    fastcgi.rules.obeys_scope = true;
    fastcgi.rules.body_bytes_max = options.limits.body_bytes_max;
    fastcgi.server_software = "tiderace/" + std::string(version());
    return http::cgi::FastCgi::create(loop, std::move(fastcgi));
}

// "/b/c" of /a/b/c in /a, "/" of /a itself, "" of what lies elsewhere.
std::string place_below(const fs::path& folder, const fs::path& path) {
    const fs::path relative = path.lexically_relative(folder);
    if (relative.empty() || *relative.begin() == "..") return {};
    return relative == "." ? "/" : "/" + relative.generic_string();
}

// Finds routes whose root is a folder of programs, or lies inside one.
void add_roots_inside(const ServeOptions& options, const std::string& programs,
                      std::vector<SourceFault>& faults) {
    std::error_code fault;
    const fs::path folder = fs::weakly_canonical(programs, fault);
    for (const Route& route : options.routes) {
        if (!route.files.root) continue;
        const fs::path root = fs::weakly_canonical(*route.files.root, fault);
        if (place_below(folder, root).empty()) continue;
        faults.push_back({"root", &route,
                          Error(0, "serve", *route.files.root,
                                "the programs of " + programs +
                                    " would be sent as files: move what is to be sent to a "
                                    "folder of its own")});
    }
}

}  // namespace

std::string place_inside(const std::string& folder, const std::string& other) {
    std::error_code fault;
    std::string place =
        place_below(fs::weakly_canonical(folder, fault), fs::weakly_canonical(other, fault));
    return fault || place == "/" ? "" : place;
}

// A --fastcgi of a path has no files here: the peer knows what it runs.
std::vector<std::string> program_sources(const ServeOptions& options) {
    std::vector<std::string> sources;
    for (const Route& route : options.routes) {
        if (route.has_scripts() || !route.cgi.empty()) sources.push_back(route.match.path);
    }
    return sources;
}

std::vector<std::string> unsent_paths(const ServeOptions& options) {
    std::vector<std::string> all = program_sources(options);
    std::error_code fault;
    const fs::path root = fs::canonical(options.root, fault);
    for (const std::string& file : options.private_files) {
        const std::string place = place_below(root, file);
        if (!place.empty()) all.push_back("=" + place);
    }
    for (const Route& route : options.routes) {
        // Whatever path leads to them: a route may have the folder around them as its root.
        if (!route.cgi.empty()) {
            std::error_code fault;
            const std::string folder =
                path_in_root(options, fs::weakly_canonical(route.cgi, fault));
            if (!folder.empty()) all.push_back(folder);
        }
        const bool has_path = !route.match.plain_path().empty();
        if (route.fastcgi && !route.has_scripts() && has_path) all.push_back(route.match.path);
    }
    return all;
}

// What the server itself puts in place of a request's path is read as a file, so a script there
// would be shown to everyone, with the passwords in it, or be missing.
std::vector<SourceFault> source_faults(const ServeOptions& options) {
    std::vector<SourceFault> faults;
    const std::vector<std::string> sources = program_sources(options);
    const auto add_page = [&](std::string_view key, std::string_view flag, const Route* route,
                              const std::string& file) {
        faults.push_back(
            {key, route,
             Error(0, "serve " + std::string(flag), file,
                   "a program answers the requests of this file (--cgi, --fastcgi), but here its "
                   "source would be sent: give the name of a page")});
    };
    const auto add_pages = [&](std::string_view flag, const Route* route,
                               const std::vector<ErrorPage>& pages) {
        for (const ErrorPage& page : pages) {
            const bool is_shown = is_source(sources, path_in_root(options, page.file));
            if (is_shown) add_page("error_pages", flag, route, page.file);
        }
    };
    if (options.spa_file && is_source(sources, "/" + *options.spa_file)) {
        add_page("fallback", "--spa", nullptr, *options.spa_file);
    }
    add_pages("--error-page", nullptr, options.error_pages);
    add_pages("--error-page", nullptr, options.whole.error_pages);
    for (const Route& route : options.routes) {
        add_pages("--path-error-page", &route, route.error_pages);
        if (!route.cgi.empty()) {
            auto hidden = check_hidden(options, route);
            if (!hidden) faults.push_back({"cgi", &route, hidden.error()});
            add_roots_inside(options, route.cgi, faults);
        }
        // Behind "/a" the file a.html is found, which the pattern knows by its own name only.
        if (!options.clean_urls || !route.has_scripts() || !route.match.path.ends_with(".html")) {
            continue;
        }
        faults.push_back({"fastcgi", &route,
                          Error(0, "serve --fastcgi", route.match.path,
                                "with --clean-urls the source of /a.html would be sent for /a: "
                                "leave one of the two out")});
    }
    return faults;
}

Result<std::unique_ptr<Programs>> Programs::create(
    core::EventLoop& loop, const ServeOptions& options,
    std::shared_ptr<http::cgi::ProgramPlaces> places) {
    if (auto faults = source_faults(options); !faults.empty()) return fail(faults[0].error);
    std::unique_ptr<Programs> programs(new Programs());
    std::map<const Route*, http::cgi::FastCgi*> scripts;
    for (const Route& route : options.routes) {
        std::unique_ptr<http::Handler> handler;
        if (!route.cgi.empty()) {
            auto made = make_cgi(loop, options, places, route);
            if (!made) return fail(made.error());
            handler = std::move(*made);
        } else if (route.fastcgi) {
            auto made = make_fastcgi(loop, options, route);
            if (!made) return fail(made.error());
            if (route.has_scripts()) scripts[&route] = made->get();
            handler = std::move(*made);
        }
        if (handler == nullptr) continue;
        programs->by_route_.push_back({route.match, std::move(handler)});
    }
    for (const Route* const route : routes_by_path(options.routes)) {
        if (route->has_scripts()) programs->scripts_.push_back(scripts.at(route));
    }
    return programs;
}

http::Handler* Programs::of_route(const http::RouteMatch& match) const {
    const auto found = std::ranges::find(by_route_, match, &OfRoute::match);
    return found != by_route_.end() ? found->handler.get() : nullptr;
}

bool Programs::run_script(http::Exchange& exchange, std::string_view path,
                          std::span<const std::string> index) {
    return std::ranges::any_of(scripts_, [&](http::cgi::FastCgi* scripts) {
        return scripts->handle_as(exchange, path, index);
    });
}

}  // namespace tiderace::server
