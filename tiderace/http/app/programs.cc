#include <filesystem>
#include <memory>
#include <utility>

#include "tiderace/http/app/app.h"
#include "tiderace/http/app/csrf.h"
#include "tiderace/http/cgi/cgi.h"
#include "tiderace/http/cgi/fastcgi.h"
#include "tiderace/http/route/glob.h"
#include "tiderace/http/site.h"

namespace tiderace::http {
namespace app_parts {
namespace {

// Programs read the body themselves, and check no token in it.
template <typename Programs>
class GuardedPrograms final : public Handler {
  public:
    explicit GuardedPrograms(std::unique_ptr<Programs> programs) : programs_(std::move(programs)) {}

    void handle(Exchange& exchange) override {
        if (awaits_csrf_token(exchange)) return refuse_csrf(exchange);
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

void Scope::add_cgi(route::PlacedPattern placed, const std::string& folder) const {
    cgi::CgiOptions options;
    options.prefix = whole_prefix("cgi", placed.text);
    if (!is_folder(folder)) fault("cgi", placed.text, folder + " is no directory");
    options.folder = folder;
    options.rules.body_bytes_max = app->options_.body_bytes_max;
    options.places = std::make_shared<cgi::ProgramPlaces>(32, 256);  // of all loops
    if (placed.text == "/") placed.text.clear();
    app->add(number, wire::Method::other, {placed.text + "/{path...}", placed.place}, 1,
             maker_of<cgi::Cgi>(options));
}

void Scope::add_fastcgi(route::PlacedPattern placed, const std::string& address,
                        const std::string& root) const {
    const bool is_glob = route::is_glob(placed.text);
    cgi::FastCgiOptions options;
    options.pattern = is_glob ? placed.text : whole_prefix("fastcgi", placed.text);
    auto peer = core::Address::parse(address);
    if (!peer) fault("fastcgi", placed.text, peer.error().message());
    if ((is_glob || !root.empty()) && !is_folder(root)) {
        fault("fastcgi", placed.text, root + " is no directory");
    }
    if (peer) options.address = *peer;
    options.root = root;
    options.index = {"index.php"};
    options.rules.body_bytes_max = app->options_.body_bytes_max;
    // A glob is no pattern of a route: all paths come here, and FastCgi takes those that match it.
    if (is_glob || placed.text == "/") placed.text.clear();
    app->add(number, wire::Method::other, {placed.text + "/{path...}", placed.place}, 1,
             maker_of<cgi::FastCgi>(options));
}

}  // namespace app_parts
}  // namespace tiderace::http
