#include "server/site/mapped_files.h"

#include "server/site/variables.h"
#include "tiderace/http/wire/canonical_path.h"

namespace tiderace::server {
VariableValues MappedFiles::values_of(const http::Request& request) const {
    return {.authority = request.authority, .path = request.path, .route = match_};
}

std::optional<std::string> MappedFiles::mapped(const http::Request& request) const {
    std::string_view path = request.path;
    if (!settings_.strip.empty() && http::wire::is_below(path, settings_.strip)) {
        path.remove_prefix(settings_.strip.size());
    }
    return path_with_variables(settings_.prefix + "{path}", values_of(request), path);
}

std::optional<std::string> MappedFiles::tried(std::size_t number, const http::Request& request,
                                              const std::string& mapped) const {
    return path_with_variables(settings_.tries[number], values_of(request), mapped);
}

std::vector<std::string> MappedFiles::names(const http::Request& request) const {
    std::vector<std::string> all;
    const std::optional<std::string> path = mapped(request);
    if (path && settings_.tries.empty()) all.push_back(*path);
    for (std::size_t i = 0; path && i < settings_.tries.size(); ++i) {
        if (auto name = tried(i, request, *path)) all.push_back(std::move(*name));
    }
    return all;
}

void MappedFiles::handle(http::Exchange& exchange) {
    const http::Request& request = exchange.request();
    const std::optional<std::string> path = mapped(request);
    if (!path) return exchange.respond_status(404);
    if (settings_.tries.empty()) return serve(exchange, *path);
    for (std::size_t i = 0; i < settings_.tries.size(); ++i) {
        const auto name = tried(i, request, *path);
        const bool is_last = i + 1 == settings_.tries.size() && settings_.or_status == 0;
        if (!name) continue;
        if (is_last) return serve(exchange, *name);
        if (serve_if_there(exchange, *name)) return;
    }
    exchange.respond_status(settings_.or_status != 0 ? settings_.or_status : 404);
}

// A name with a '/' at its end is a folder's, and its index counts.
bool MappedFiles::serve_if_there(http::Exchange& exchange, const std::string& path) {
    using http::files::StandsFor;
    const bool is_folder = path.ends_with('/');
    const bool needs_slash = is_folder && !exchange.request().path.ends_with('/');
    if (files_ == nullptr)
        return programs_ != nullptr && programs_->run_script(exchange, path, index_);
    const StandsFor found = files_->look(exchange, path);
    if (is_folder ? found != StandsFor::directory && found != StandsFor::alias
                  : found != StandsFor::file) {
        return false;
    }
    // Relative links in its page need the slash.
    if (needs_slash) {
        files_->redirect_to_slash(exchange);
    } else {
        serve(exchange, path);
    }
    return true;
}

void MappedFiles::serve(http::Exchange& exchange, const std::string& path) {
    if (programs_ != nullptr && programs_->run_script(exchange, path, index_)) return;
    if (files_ == nullptr) return exchange.respond_status(404);
    files_->handle_as(exchange, path);
}

}  // namespace tiderace::server
