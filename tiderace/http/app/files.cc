// App::files. The route's endpoint is never reached, because the files of the loop
// stand before it as a rule.
#include <filesystem>
#include <memory>
#include <utility>
#include <vector>

#include "tiderace/http/app/app.h"
#include "tiderace/http/handler/static_files.h"

namespace tiderace::http {
namespace {

class FilesRule final : public AccessRule {
  public:
    FilesRule(core::EventLoop& loop, handler::StaticFilesOptions options) {
        const std::string root = options.root;
        auto made = handler::StaticFiles::create(loop, std::move(options));
        if (made) {
            files_ = std::move(*made);
        } else if (loop.log() != nullptr) {
            loop.log()->error("http", "a folder cannot be served",
                              log::field("why", made.error().message()));
        }
    }

    Verdict check(Exchange& exchange) override {
        // The folder was there when the App was made (App::files checks it) and could not be opened
        // later: the log has the reason, and the rest of the App serves on.
        files_ != nullptr ? files_->handle(exchange) : exchange.respond_status(500);
        return Verdict::answered;
    }

  private:
    std::unique_ptr<handler::StaticFiles> files_;
};

}  // namespace

App& App::files(route::PlacedPattern placed, const std::string& folder,
                std::vector<Middleware> middleware) {
    std::string& prefix = placed.text;
    std::error_code ignored;
    if (fault_.empty() && !std::filesystem::is_directory(folder, ignored)) {
        fault_ = "files " + prefix + ": " + folder + " is no directory";
    }
    if (prefix == "/") prefix.clear();
    const auto make = [prefix, folder](LayerPlace& place) {
        handler::StaticFilesOptions options;
        options.root = folder;
        options.prefix = prefix;
        options.pool = place.pool;
        return Layer(std::make_shared<FilesRule>(place.loop, std::move(options)));
    };
    // The endpoint that is never reached; it takes the one parameter of its pattern.
    const auto below = [](std::string_view) {};
    if (middleware.empty()) {
        return route(wire::Method::other, {prefix + "/{path...}", placed.place}, below,
                     Middleware(Middleware::Make(make)));
    }
    Group<0> files = group(prefix);
    for (Middleware& each : middleware) files.use(std::move(each));
    files.route(wire::Method::other, {"/{path...}", placed.place}, below,
                Middleware(Middleware::Make(make)));
    return *this;
}

}  // namespace tiderace::http
