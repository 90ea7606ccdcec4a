#include <filesystem>
#include <memory>
#include <utility>
#include <vector>

#include "tiderace/http/app/app.h"
#include "tiderace/http/handler/static_files.h"
#include "tiderace/http/site.h"

namespace tiderace::http {

App& App::files(route::PlacedPattern placed, const std::string& folder,
                std::vector<Middleware> middleware) {
    std::string& prefix = placed.text;
    std::error_code ignored;
    if (fault_.empty() && !std::filesystem::is_directory(folder, ignored)) {
        fault_ = "files " + prefix + ": " + folder + " is no directory";
    }
    if (prefix == "/") prefix.clear();
    std::uint32_t scope = 0;
    for (Middleware& each : middleware) {
        if (scope == 0) scope = add_scope(0, "");
        site_->scope(scope).settings.push_back(std::move(each));
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
    add(scope, wire::Method::other, {prefix + "/{path...}", placed.place}, 1, make);
    return *this;
}

}  // namespace tiderace::http
