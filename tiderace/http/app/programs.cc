// App::cgi and App::fastcgi. As with App::files, the route's endpoint is never reached, because the
// programs of the loop stand before it as a rule.
#include <filesystem>
#include <memory>
#include <utility>

#include "tiderace/http/app/app.h"
#include "tiderace/http/app/csrf.h"
#include "tiderace/http/cgi/cgi.h"
#include "tiderace/http/cgi/fastcgi.h"
#include "tiderace/http/files/glob.h"

namespace tiderace::http {
namespace {

template <typename Programs>
class ProgramsRule final : public AccessRule {
  public:
    template <typename Options>
    ProgramsRule(core::EventLoop& loop, Options options) {
        auto made = Programs::create(loop, std::move(options));
        if (made) {
            programs_ = std::move(*made);
        } else if (loop.log() != nullptr) {
            loop.log()->error("http", "programs cannot be served",
                              log::field("why", made.error().message()));
        }
    }

    Verdict check(Exchange& exchange) override {
        if (app_parts::awaits_csrf_token(
                exchange)) {  // the program reads the body, and checks nothing
            app_parts::refuse_csrf(exchange);
            return Verdict::answered;
        }
        programs_ != nullptr ? programs_->handle(exchange) : exchange.respond_status(500);
        return Verdict::answered;
    }

  private:
    std::unique_ptr<Programs> programs_;
};

bool is_folder(const std::string& path) {
    std::error_code ignored;
    return std::filesystem::is_directory(path, ignored);
}

}  // namespace

App& App::cgi(route::PlacedPattern placed, const std::string& folder) {
    const std::string& prefix = placed.text;
    if (fault_.empty() && !is_folder(folder)) {
        fault_ = "cgi " + prefix + ": " + folder + " is no directory";
    }
    cgi::CgiOptions options;
    options.prefix = prefix == "/" ? "" : prefix;
    options.folder = folder;
    options.rules.body_bytes_max = options_.body_bytes_max;
    options.places = std::make_shared<cgi::ProgramPlaces>(32, 256);  // of all loops
    const auto make = [options](LayerPlace& place) {
        return Layer(std::make_shared<ProgramsRule<cgi::Cgi>>(place.loop, options));
    };
    return route(
        wire::Method::other, {options.prefix + "/{path...}", placed.place}, [](std::string_view) {},
        Middleware(Middleware::Make(make)));
}

App& App::fastcgi(route::PlacedPattern placed, const std::string& address,
                  const std::string& root) {
    std::string& pattern = placed.text;
    const bool is_glob = files::is_glob(pattern);
    auto peer = core::Address::parse(address);
    if (fault_.empty() && !peer) fault_ = "fastcgi " + pattern + ": " + peer.error().message();
    if (fault_.empty() && (is_glob || !root.empty()) && !is_folder(root)) {
        fault_ = "fastcgi " + pattern + ": " + root + " is no directory";
    }
    cgi::FastCgiOptions options;
    if (peer) options.address = *peer;
    options.pattern = pattern;
    options.root = root;
    options.index = {"index.php"};
    options.rules.body_bytes_max = options_.body_bytes_max;
    const auto make = [options](LayerPlace& place) {
        return Layer(std::make_shared<ProgramsRule<cgi::FastCgi>>(place.loop, options));
    };
    // A glob is no pattern of a route, so all paths come here and FastCgi picks those that match.
    if (is_glob || pattern == "/") pattern.clear();
    return route(
        wire::Method::other, {pattern + "/{path...}", placed.place}, [](std::string_view) {},
        Middleware(Middleware::Make(make)));
}

}  // namespace tiderace::http
