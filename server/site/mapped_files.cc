#include "server/site/mapped_files.h"

#include <algorithm>

#include "tiderace/base/ascii.h"
#include "tiderace/http/wire/canonical_path.h"
#include "tiderace/http/wire/host.h"

namespace tiderace::server {
namespace {

constexpr std::string_view known_variables[] = {"path", "rest", "host"};

bool is_label_number(std::string_view name) {
    return name.size() == 6 && name.starts_with("host.") && name[5] >= '1' && name[5] <= '9';
}

// A name that is the same folder however it is written; "" for one that is none.
std::string host_of(const http::Request& request) {
    std::string host = lower_case(http::wire::host_without_port(request.authority));
    const bool is_name = std::ranges::all_of(host, [](char c) {
        return is_digit(c) || (c >= 'a' && c <= 'z') || c == '-' || c == '_' || c == '.';
    });
    // No hidden folder, and none above.
    const bool is_sound = is_name && !host.starts_with('.') && !host.contains("..");
    return is_sound ? host : std::string();
}

std::string_view label_of(std::string_view host, char number) {
    for (char at = '1'; at < number; ++at) {
        const std::size_t dot = host.find('.');
        if (dot == host.npos) return {};
        host.remove_prefix(dot + 1);
    }
    return host.substr(0, host.find('.'));
}

// Without "//" inside, as canonical paths are.
std::string tidied(std::string path) {
    if (!path.starts_with('/')) path.insert(0, "/");
    const auto ends =
        std::ranges::unique(path, [](char a, char b) { return a == '/' && b == '/'; });
    path.erase(ends.begin(), ends.end());
    return path;
}

}  // namespace

std::string variable_fault(std::string_view text) {
    while (true) {
        const std::size_t begin = text.find_first_of("{}");
        if (begin == text.npos) return {};
        const std::size_t end = text.find('}', begin);
        if (text[begin] == '}' || end == text.npos) return "a brace stands alone";
        const std::string_view name = text.substr(begin + 1, end - begin - 1);
        if (std::ranges::find(known_variables, name) == std::end(known_variables) &&
            !is_label_number(name)) {
            return "there is no variable {" + std::string(name) + "}";
        }
        text.remove_prefix(end + 1);
    }
}

std::optional<std::string> with_variables(std::string_view text, const http::Request& request,
                                          std::string_view path, std::string_view rest) {
    std::string whole;
    while (!text.empty()) {
        const std::size_t begin = std::min(text.find('{'), text.size());
        whole += text.substr(0, begin);
        text.remove_prefix(begin);
        if (text.empty()) break;
        const std::string_view name = text.substr(1, text.find('}') - 1);
        text.remove_prefix(name.size() + 2);
        if (name == "path" || name == "rest") {
            whole += name == "path" ? path : rest;
            continue;
        }
        const std::string host = host_of(request);
        const std::string_view value = name == "host" ? host : label_of(host, name.back());
        if (value.empty()) return std::nullopt;
        whole += value;
    }
    return tidied(std::move(whole));
}

std::optional<std::string> MappedFiles::mapped(const http::Request& request) const {
    std::string_view path = request.path;
    if (!settings_.strip.empty() && http::wire::is_below(path, settings_.strip)) {
        path.remove_prefix(settings_.strip.size());
    }
    return with_variables(settings_.prefix + "{path}", request, path, {});
}

std::optional<std::string> MappedFiles::tried(std::size_t number, const http::Request& request,
                                              const std::string& mapped) const {
    const std::string_view rest =
        request.path.substr(http::wire::is_below(request.path, path_) ? path_.size() : 0);
    return with_variables(settings_.tries[number], request, mapped, rest);
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
    if (files_ == nullptr) return programs_ != nullptr && programs_->run_script(exchange, path);
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
    if (programs_ != nullptr && programs_->run_script(exchange, path)) return;
    if (files_ == nullptr) return exchange.respond_status(404);
    files_->handle_as(exchange, path);
}

}  // namespace tiderace::server
