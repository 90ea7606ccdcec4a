#include "tiderace/http/app/app.h"

#include <algorithm>
#include <iterator>
#include <span>

#include "tiderace/http/app/life/life.h"
#include "tiderace/http/app/pages/template_folder.h"
#include "tiderace/http/app/route_handler.h"
#include "tiderace/http/app/session.h"
#include "tiderace/http/site.h"

namespace tiderace::http {

App::App() : App(AppOptions()) {}
App::App(AppOptions options)
    : options_(options),
      site_(std::make_shared<Site>()),
      life_(std::make_shared<app_parts::Life>()) {}
// Here and not in the header, where Site is incomplete.
App::App(App&& other) noexcept = default;
App& App::operator=(App&& other) noexcept = default;
App::~App() = default;

App& App::add_background(app_parts::Background task) {
    background_.push_back(std::move(task));
    return *this;
}

App& App::add_job(std::string name, std::expected<app_parts::Schedule, std::string> schedule,
                  app_parts::Background job) {
    if (!schedule) {
        if (fault_.empty()) fault_ = "job " + name + ": " + schedule.error();
        return *this;
    }
    job.name = std::move(name);
    job.schedule = std::move(*schedule);
    job.options.grace = Duration::max();  // within ServeOptions::drain
    return add_background(std::move(job));
}

void App::drain() const {
    life_->drain();
}
void App::set_log_level(log::Level level) {
    life_->set_log_level(level);
}
bool App::draining() const {
    return life_->draining();
}

app_parts::Scope app_parts::Scope::inner(std::string prefix) const {
    return {app, app->add_scope(number, std::move(prefix))};
}
void app_parts::Scope::use(Middleware middleware) const {
    app->site_->scope(number).settings.push_back(std::move(middleware));
}
void app_parts::Scope::add(wire::Method method, route::PlacedPattern pattern,
                           std::size_t parameters, std::unique_ptr<Endpoint> endpoint,
                           std::vector<Middleware> middleware) const {
    app->add(number, method, std::move(pattern), parameters, std::move(endpoint),
             std::move(middleware));
}

void app_parts::Scope::set_error_page(CheckedErrorPage page) const {
    app->set_error_page(number, std::move(page));
}

std::uint32_t App::add_scope(std::uint32_t parent, std::string prefix) {
    // Faults are kept until serve() (or fault()) reports the first one, so that declarations can be
    // chained, so they are not checked.
    if (fault_.empty() && (prefix.ends_with('/') || (!prefix.empty() && prefix[0] != '/'))) {
        fault_ = "group " + prefix + ": a prefix begins with '/' and does not end with one";
    }
    return site_->add_scope(parent, std::move(prefix));
}

Group<0> App::host(std::string name) {
    const std::uint32_t scope = add_scope(0, "");
    site_->scope(scope).host = site_->host(std::move(name));
    return Group<0>({this, scope});
}

void App::add(std::uint32_t scope, wire::Method method, route::PlacedPattern placed,
              std::size_t parameters, std::unique_ptr<app_parts::Endpoint> endpoint,
              std::vector<Middleware> middleware) {
    if (!fault_.empty()) return;
    // Middleware of one route: a scope of its own, inside the group's.
    if (!middleware.empty()) {
        scope = add_scope(scope, "");
        std::ranges::move(middleware, std::back_inserter(site_->scope(scope).settings));
    }
    add(scope, method, std::move(placed), parameters, [&made = *endpoint](LayerPlace& on) {
        return std::make_shared<app_parts::RouteHandler>(made, on);
    });
    const std::size_t first_use = page_uses_.size();
    if (endpoint->kind().list_pages != nullptr) endpoint->kind().list_pages(page_uses_);
    check_pages(first_use);
    site_->endpoint(static_cast<std::uint32_t>(routes_.size() - 1)).is_websocket =
        endpoint->kind().is_websocket;
    routes_.back() = std::move(endpoint);
}

void App::add(std::uint32_t scope, wire::Method method, route::PlacedPattern placed,
              std::size_t parameters, shared_function<std::shared_ptr<Handler>(LayerPlace&)> make) {
    if (!fault_.empty()) return;
    std::string& pattern = placed.text;
    const std::string& prefix = site_->scope(scope).prefix;
    // The "/" of a group is its prefix itself, without a slash at its end.
    if (!prefix.empty()) pattern = prefix + (pattern == "/" ? "" : pattern);
    const auto added = site_->add({.pattern = pattern,
                                   .place = placed.place,
                                   .method = method,
                                   .scope = scope,
                                   .make = std::move(make)});
    // Patterns that are template arguments are checked by the compiler; one that is made at run
    // time is checked here.
    if (!added) {
        fault_ = added.error();
    } else if (route::count_parameters(pattern) != parameters) {
        fault_ = "route " + pattern + to_string(placed.place) + ": its handler takes " +
                 std::to_string(parameters) + " parameters of the path";
    }
    routes_.emplace_back();
}

App& App::mount(std::string prefix, App&& other) {
    if (fault_.empty()) fault_ = other.fault_;
    // These are of all requests of the App that serves, so below a prefix they would do nothing.
    if (fault_.empty() && (other.on_answer_ || other.metrics_ || other.site_->before_match)) {
        fault_ = "mount " + prefix + ": " +
                 (other.on_answer_ ? "on_answer()"
                  : other.metrics_ ? "metrics()"
                                   : "trusted_proxies()") +
                 " is for the App that serves; call it there";
    }
    // The handlers of the other App take the parameters of its own patterns alone.
    if (fault_.empty() && route::count_parameters(prefix) > 0) {
        fault_ = "mount " + prefix + ": its prefix has no parameters";
    }
    const auto mounted = site_->mount(add_scope(0, std::move(prefix)), std::move(*other.site_));
    if (fault_.empty() && !mounted) fault_ = mounted.error();
    std::ranges::move(other.routes_, std::back_inserter(routes_));
    const std::size_t first_use = page_uses_.size();
    page_uses_.insert(page_uses_.end(), other.page_uses_.begin(), other.page_uses_.end());
    check_pages(first_use);
    states_.take(std::move(other.states_));
    other.life_->join(life_);  // its ready() asks it
    for (app_parts::Background& one : other.background_) background_.push_back(std::move(one));
    if (pages_ != nullptr && other.pages_ != nullptr) {
        // A page is found by its name alone, so two folders could have one of the same name each.
        if (fault_.empty()) fault_ = "mount: both Apps have templates; put them into one folder";
    } else if (other.pages_ != nullptr) {
        pages_ = std::move(other.pages_);
        check_pages(0);
    }
    return *this;
}

App& App::trusted_proxies(const TrustedProxyOptions& options) {
    std::string fault;
    const auto proxies = std::make_shared<const filter::TrustedProxies>(options, fault);
    if (fault_.empty()) fault_ = std::move(fault);
    // Every rule, and the log, see the client's address.
    site_->before_match = [proxies](Exchange& exchange) { proxies->apply(exchange); };
    return *this;
}

void App::set_error_page(std::uint32_t scope, app_parts::CheckedErrorPage page) {
    const std::size_t first_use = page_uses_.size();
    page_uses_.insert(page_uses_.end(), page.uses.begin(), page.uses.end());
    check_pages(first_use);
    site_->scope(scope).error_pages = app_parts::shown_by(std::move(page.show));
}

App& App::health(route::PlacedPattern path) {
    // Sessions or users of a database that is away must not make the process look dead.
    const std::uint32_t scope = add_scope(0, "");
    site_->scope(scope).asks_nobody = true;
    Group<0>({this, scope}).route(wire::Method::get, std::move(path), [] {
        return Response().header("Cache-Control", "no-store").text("ok\n");
    });
    return *this;
}

App& App::ready(route::PlacedPattern path) {
    return ready(std::move(path), [] { return true; });
}

App& App::on_answer(shared_function<void(const AccessRecord&)> call) {
    on_answer_ = std::move(call);
    return *this;
}

App& App::add_ready(route::PlacedPattern path, Duration limit, Middleware check) {
    // First, so that a draining server answers without asking what the check would ask.
    const auto stays = [life = life_]() -> std::optional<Problem> {
        if (life->draining()) return Problem{.status = 503, .detail = "it drains"};
        return std::nullopt;
    };
    return route(
        wire::Method::get, std::move(path),
        [] { return Response().header("Cache-Control", "no-store").text("ready\n"); },
        Middleware(Setting{.handler_timeout = limit}), Middleware(stays), std::move(check));
}

App& App::templates(const std::string& folder) {
    return templates(folder, {});
}

App& App::templates(const std::string& folder, const TemplateOptions& options) {
    if (!fault_.empty()) return *this;
    auto opened = app_parts::TemplateFolder::open(folder, options);
    if (!opened) {
        fault_ = "templates: " + opened.error();
        return *this;
    }
    pages_ = std::move(*opened);
    check_pages(0);
    return *this;
}

void App::check_pages(std::size_t first_use) {
    // templates() may come after the routes: it checks all of them then.
    if (pages_ == nullptr) return;
    for (std::size_t i = first_use; i < page_uses_.size() && fault_.empty(); ++i) {
        if (std::string why = pages_->check(page_uses_[i]); !why.empty()) fault_ = "page " + why;
    }
}

std::string App::fault() const {
    if (!fault_.empty()) return fault_;
    if (pages_ == nullptr && !page_uses_.empty()) {
        return "a handler returns a page, but App::templates was not called";
    }
    return missing();
}

// What the first function takes and does not get: only now are all states and middleware known.
std::string App::missing() const {
    std::vector<Need> needs;
    for (std::uint32_t i = 0; i < routes_.size(); ++i) {
        if (routes_[i] == nullptr || routes_[i]->kind().list_needs == nullptr) continue;
        needs.clear();
        routes_[i]->kind().list_needs(needs);
        const Site::Endpoint& route = site_->endpoint(i);
        const std::string why = missing(needs, route.scope, SIZE_MAX);
        if (why.empty()) continue;
        return "route " + route.pattern + to_string(route.place) + ": its handler takes " + why;
    }
    for (std::uint32_t scope = 0; scope < site_->scopes().size(); ++scope) {
        const Site::Scope& in = site_->scopes()[scope];
        for (std::size_t i = 0; i < in.settings.size(); ++i) {
            const std::string why = missing(in.settings[i].needs, scope, i);
            if (why.empty()) continue;
            return "a middleware of " + (in.prefix.empty() ? "the App" : "group " + in.prefix) +
                   " takes " + why;
        }
    }
    for (const app_parts::Background& task : background_) {
        const std::string why = missing(task.needs, 0, 0);
        if (why.empty()) continue;
        return (task.name.empty() ? "a background task" : "job " + task.name) + " takes " + why;
    }
    return "";
}

// "": nothing. Of `scope`, the first `settings` stand before what has the needs.
std::string App::missing(const std::vector<Need>& needs, std::uint32_t scope,
                         std::size_t settings) const {
    const auto leaves = [](const Need& need) {
        return [&need](const Setting& setting) { return setting.leaves == need.key; };
    };
    const auto is_left = [&](const Need& need) {
        std::size_t count = settings;
        for (std::uint32_t at = scope; at != Site::no_scope; at = site_->scopes()[at].parent) {
            const auto& all = site_->scopes()[at].settings;
            const auto before = std::span(all).first(std::min(count, all.size()));
            if (std::ranges::any_of(before, leaves(need))) return true;
            count = SIZE_MAX;
        }
        return false;
    };
    for (const Need& need : needs) {
        const std::string type(need.type);
        if (need.left) {
            if (is_left(need)) continue;
            return "a " + type + ", and no middleware before it gives one" +
                   (need.key == state_key<Session> ? ": app.use(sessions(…))" : "");
        }
        if (need.key == state_key<AppLoop> || (need.constant && is_left(need))) continue;
        const bool is_life = need.key == state_key<Life>;
        const auto has = [&](bool shared) { return states_.has(need.key, shared); };
        if (has(false) || (need.constant && (is_life || has(true)))) continue;
        if (is_life || has(true)) {
            return type + "&, which all loops share: take it as const " + type + "&";
        }
        return (need.constant ? "const " + type : type) + "&, which nobody gives: App::state<" +
               type + ">()" + (need.constant ? ", or App::share() for all loops" : "");
    }
    return "";
}

}  // namespace tiderace::http
