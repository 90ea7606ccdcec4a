#include "server/programs.h"

#include <algorithm>
#include <filesystem>
#include <string>
#include <utility>

#include "server/version.h"
#include "tiderace/http/files/glob.h"

namespace tiderace::server {
namespace {

namespace fs = std::filesystem;

// A folder of programs below the served one, under another path than its own there, would be sent
// as files: with what programs keep in their source.
Result<> check_hidden(const ServeOptions& options, const CgiFolder& cgi) {
    std::error_code fault;
    const fs::path root = fs::canonical(options.root, fault);
    const fs::path folder = fs::canonical(cgi.folder, fault);
    if (fault) {
        return fail(Error(fault.value(), "serve the programs of", cgi.folder,
                          "--cgi PATH=DIR expects the folder of the programs"));
    }
    const fs::path relative = folder.lexically_relative(root);
    const std::string below = relative.generic_string();
    // By its first part: a folder may be called "..x".
    const bool is_outside = relative.empty() || *relative.begin() == "..";
    if (is_outside || "/" + below == cgi.prefix) return {};
    if (below == ".") {
        // Its path there is the one of all files: the advice below would lead here again.
        return fail(Error(0, "serve the programs of", cgi.folder,
                          "it is the served folder, whose files are sent: move the programs to a "
                          "folder outside of it"));
    }
    return fail(Error(0, "serve the programs of", cgi.folder,
                      "it is inside the served folder, whose files are sent: move it out, or "
                      "give its path there: --cgi /" +
                          below + "=" + cgi.folder));
}

// The path that requests of this file have; "" for one outside of the served folder.
std::string path_in_root(const ServeOptions& options, const std::string& file) {
    std::error_code fault;
    const fs::path root = fs::canonical(options.root, fault);
    const fs::path relative = fs::weakly_canonical(root / file, fault).lexically_relative(root);
    if (fault || relative.empty() || *relative.begin() == "..") return {};
    return "/" + relative.generic_string();
}

Result<> check_page(bool is_source, std::string_view flag, const std::string& file) {
    if (!is_source) return {};
    return fail(
        Error(0, "serve " + std::string(flag), file,
              "a program answers the requests of this file (--cgi, --fastcgi), but here its "
              "source would be sent: give the name of a page"));
}

}  // namespace

Result<std::unique_ptr<Programs>> Programs::create(core::EventLoop& loop,
                                                   const ServeOptions& options,
                                                   std::shared_ptr<http::cgi::ProgramPlaces> places,
                                                   http::Handler& rest) {
    std::unique_ptr<Programs> programs(new Programs(rest));
    for (const CgiFolder& folder : options.cgi.folders) {
        if (auto hidden = check_hidden(options, folder); !hidden) return fail(hidden.error());
        http::cgi::CgiOptions cgi;
        cgi.prefix = folder.prefix;
        cgi.folder = folder.folder;
        cgi.document_root = options.root;
        cgi.rules.timeout = options.cgi.timeout;
        cgi.rules.body_bytes_max = options.limits.body_bytes_max;
        cgi.limits.memory_bytes_max = options.cgi.memory_bytes_max;
        cgi.places = places;
        cgi.server_software = "tiderace/" + std::string(version());
        auto made = http::cgi::Cgi::create(loop, std::move(cgi));
        if (!made) return fail(made.error());
        // /cgi/admin before /cgi, whatever the order of the flags.
        const auto shorter = std::ranges::find_if(programs->cgi_, [&](const auto& other) {
            return other->prefix().size() < folder.prefix.size();
        });
        programs->cgi_.insert(shorter, std::move(*made));
    }
    for (const FastCgiRoute& route : options.cgi.fastcgi) {
        if (auto added = programs->add(loop, options, route); !added) return fail(added.error());
    }
    if (auto checked = programs->check_pages(options); !checked) return fail(checked.error());
    return programs;
}

// Programs are found by the path of the request. What the server itself puts in place of that path
// is read as a file, so a script there would be shown to everyone, with the passwords in it.
Result<> Programs::check_pages(const ServeOptions& options) const {
    if (options.spa_file) {
        const bool is_shown = is_source("/" + *options.spa_file);
        if (auto checked = check_page(is_shown, "--spa", *options.spa_file); !checked)
            return checked;
    }
    const auto check_error_page = [&](std::string_view flag, const ErrorPage& page) {
        return check_page(is_source(path_in_root(options, page.file)), flag, page.file);
    };
    for (const ErrorPage& page : options.error_pages) {
        if (auto checked = check_error_page("--error-page", page); !checked) return checked;
    }
    for (const PathErrorPage& own : options.paths.error_pages) {
        if (auto checked = check_error_page("--path-error-page", own.page); !checked)
            return checked;
    }
    if (!options.clean_urls) return {};
    for (const std::string& pattern : scripts_) {
        // Behind "/a" the file a.html is found, which the pattern knows by its own name only.
        if (!pattern.ends_with(".html")) continue;
        return fail(Error(0, "serve --fastcgi", pattern,
                          "with --clean-urls the source of /a.html would be sent for /a: leave one "
                          "of the two out"));
    }
    return {};
}

// A --fastcgi of a path has no files here: the peer knows what it runs.
bool Programs::is_source(std::string_view path) const {
    return std::ranges::any_of(cgi_, [&](const auto& cgi) { return cgi->answers(path); }) ||
           std::ranges::any_of(scripts_, [&](const std::string& pattern) {
               return http::files::matches_glob(pattern, path);
           });
}

Result<> Programs::add(core::EventLoop& loop, const ServeOptions& options,
                       const FastCgiRoute& route) {
    http::cgi::FastCgiOptions fastcgi;
    fastcgi.pattern = route.pattern;
    fastcgi.address = route.address;
    fastcgi.root = options.root;
    fastcgi.index = options.index;
    fastcgi.rules.timeout = options.cgi.timeout;
    fastcgi.rules.body_bytes_max = options.limits.body_bytes_max;
    fastcgi.server_software = "tiderace/" + std::string(version());
    auto made = http::cgi::FastCgi::create(loop, std::move(fastcgi));
    if (!made) return fail(made.error());
    fastcgi_.push_back(std::move(*made));
    if (http::files::is_glob(route.pattern)) scripts_.push_back(route.pattern);
    return {};
}

// Folders before patterns: a script below --cgi /cgi-bin is run there, also where its name fits a
// --fastcgi '*.php' of the whole site. Among patterns the first that was given wins.
void Programs::handle(http::Exchange& exchange) {
    for (const auto& cgi : cgi_) {
        if (cgi->answers(exchange.request().path)) return cgi->handle(exchange);
    }
    for (const auto& fastcgi : fastcgi_) {
        if (fastcgi->handle_own(exchange)) return;
    }
    rest_->handle(exchange);
}

}  // namespace tiderace::server
