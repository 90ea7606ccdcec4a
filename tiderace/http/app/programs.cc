#include <filesystem>
#include <memory>
#include <utility>

#include "tiderace/http/app/app.h"
#include "tiderace/http/app/csrf.h"
#include "tiderace/http/cgi/cgi.h"
#include "tiderace/http/cgi/fastcgi.h"
#include "tiderace/http/files/glob.h"
#include "tiderace/http/site.h"

namespace tiderace::http {
namespace {

// Programs read the body themselves, and check no token in it.
template <typename Programs>
class GuardedPrograms final : public Handler {
  public:
    explicit GuardedPrograms(std::unique_ptr<Programs> programs) : programs_(std::move(programs)) {}

    void handle(Exchange& exchange) override {
        if (app_parts::awaits_csrf_token(exchange)) return app_parts::refuse_csrf(exchange);
        programs_->handle(exchange);
    }

  private:
    std::unique_ptr<Programs> programs_;
};

template <typename Programs, typename Options>
auto maker_of(Options options) {
    return [options = std::move(options)](LayerPlace& place) -> std::shared_ptr<Handler> {
        auto made = Programs::create(place.loop, options);
        if (made) return std::make_shared<GuardedPrograms<Programs>>(std::move(*made));
        place.refuse(made.error());
        return nullptr;
    };
}

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
    add(0, wire::Method::other, {options.prefix + "/{path...}", placed.place}, 1,
        maker_of<cgi::Cgi>(options));
    return *this;
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
    // A glob is no pattern of a route, so all paths come here and FastCgi picks those that match.
    if (is_glob || pattern == "/") pattern.clear();
    add(0, wire::Method::other, {pattern + "/{path...}", placed.place}, 1,
        maker_of<cgi::FastCgi>(options));
    return *this;
}

}  // namespace tiderace::http
