#include <filesystem>
#include <memory>
#include <utility>
#include <vector>

#include "tiderace/http/app/app.h"
#include "tiderace/http/handler/static_files.h"
#include "tiderace/http/site.h"

namespace tiderace::http {

namespace app_parts {

void Scope::add_files(route::PlacedPattern placed, const std::string& folder,
                      std::vector<Middleware> middleware) const {
    const std::string prefix = whole_prefix("files", placed.text);
    std::error_code ignored;
    if (!std::filesystem::is_directory(folder, ignored)) {
        fault("files", placed.text, folder + " is no directory");
    }
    std::uint32_t scope = number;
    for (Middleware& each : middleware) {
        if (scope == number) scope = app->add_scope(number, "");
        app->site_->scope(scope).settings.push_back(std::move(each));
    }
    const auto make = [prefix, folder](LayerPlace& place) -> std::shared_ptr<Handler> {
        handler::StaticFilesOptions options;
        options.root = folder;
        options.prefix = prefix;
        options.pool = place.pool;
        auto made = handler::StaticFiles::create(place.loop, std::move(options));
        if (made) return std::move(*made);
        place.refuse(made.error());
        return nullptr;
    };
    if (placed.text == "/") placed.text.clear();
    app->add(scope, wire::Method::other, {placed.text + "/{path...}", placed.place}, 1, make);
}

std::string Scope::whole_prefix(std::string_view what, const std::string& prefix) const {
    std::string whole = app->site_->scope(number).prefix;
    if (whole.contains('{')) fault(what, whole + prefix, "its prefix has no parameters");
    return prefix == "/" ? whole : whole + prefix;
}

void Scope::fault(std::string_view what, const std::string& prefix, const std::string& why) const {
    if (!app->fault_.empty()) return;
    app->fault_ = std::string(what) + " " + prefix + ": " + why;
}

}  // namespace app_parts
}  // namespace tiderace::http
