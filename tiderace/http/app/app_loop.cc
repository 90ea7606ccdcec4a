#include "tiderace/http/app/app_loop.h"

#include <algorithm>
#include <utility>

#include "tiderace/base/moment.h"
#include "tiderace/http/app/csrf.h"
#include "tiderace/http/app/life/life.h"
#include "tiderace/http/app/pages/template_folder.h"
#include "tiderace/http/app/stream.h"
#include "tiderace/task/detached.h"

namespace tiderace::http {

AppLoop::AppLoop(core::EventLoop& loop, const App& app, core::WorkerPool* pool)
    : app_(&app), runner_(loop, pool), error_pages_(app, runner_) {
    // Where Page::make() finds them: a handler's return value knows its task's runner only.
    runner_.local<app_parts::LoopPages>().pages = app.pages_.get();
    states_.add({app_parts::state_key<Life>, app.life_.get(), true});
    for (const App::State& state : app.states_) {
        // One object for all loops; any other state is made for each loop.
        if (state.shared != nullptr) {
            states_.add({state.key, state.shared, true});
            continue;
        }
        owned_.push_back(state.make(loop));
        states_.add({state.key, owned_.back().get(), false});
    }
    // An outer scope stands before those inside it.
    for (const App::Scope& scope : app.scopes_) {
        add_chain(pool, scope, chains_.empty() ? nullptr : chains_[scope.parent].get());
    }
    bodies_ = core::make_ref<core::Budget>(loop, "request bodies", bodies_bytes_max());
    LayerPlace place{loop, pool, runner_, states_};
    for (const App::Route& route : app.routes_) {
        // What an endpoint keeps for each loop (the sockets of a WebSocket's route) is found as a
        // state is, with the endpoint as its key: the App, and so the endpoint, is one for all
        // loops.
        auto part = route.endpoint->make_part(place);
        if (part == nullptr) continue;
        states_.add({route.endpoint.get(), part.get(), false});
        parts_.push_back(std::move(part));
    }
    // A background task without each_loop runs once in the process, on the loop that claims it.
    first_loop_ = app.life_->claim_first_loop();
    background_.emplace(runner_, states_, app.background_, first_loop_);
}

AppLoop::~AppLoop() {
    if (first_loop_) app_->life_->release_first_loop();
}

// A route whose limit is larger than that of all could otherwise not use it.
std::size_t AppLoop::bodies_bytes_max() const {
    const std::size_t all = app_->options_.bodies_bytes_max;
    std::uint64_t largest = 0;
    for (const App::Route& route : app_->routes_) {
        if (route.endpoint->kind().body != app_parts::BodyUse::whole) continue;
        largest = std::max(largest, chains_[route.scope]->body_bytes_max);
    }
    if (largest <= all) return all;
    return largest < SIZE_MAX - all ? all + largest : SIZE_MAX;
}

void AppLoop::drain(Instant deadline, unique_function<void()> done) {
    runner_.local<EventStreams>().drain();
    // In this order, because a background task may detach others until it ends.
    background_->drain(deadline, [this, deadline, done = std::move(done)]() mutable {
        runner_.local<task::DetachedTasks>().drain(deadline, std::move(done));
    });
}

bool AppLoop::takes_websockets() const {
    return std::ranges::any_of(
        app_->routes_, [](const auto& route) { return route.endpoint->kind().is_websocket; });
}

// A WebSocket's route is a GET, over HTTP/2 too, where CONNECT asks for one.
route::Found AppLoop::find(const Request& request, route::Parameters& parameters) const {
    const bool connect = request.method() == wire::Method::connect;
    return app_->router_for(request.authority)
        .find(connect ? wire::Method::get : request.method(), request.path, parameters);
}

void AppLoop::add_chain(core::WorkerPool* pool, const App::Scope& scope, const Chain* outer) {
    auto chain = std::make_unique<Chain>();
    chain->body_bytes_max = app_->options_.body_bytes_max;
    chain->unknown_members = app_->options_.unknown_members;
    chain->handler_timeout = app_->options_.handler_timeout;
    // A copy of the outer chain: a request then looks at one chain, however deep its group is.
    if (outer != nullptr) *chain = *outer;
    if (scope.asks_nobody) chain->rules.clear();
    chain->error_pages = error_pages_.empty() ? nullptr : &error_pages_;
    chain->scope = static_cast<std::uint32_t>(chains_.size());
    for (const Middleware& middleware : scope.middleware) {
        chain->body_bytes_max = middleware.body_bytes_max().value_or(chain->body_bytes_max);
        chain->unknown_members = middleware.unknown_members().value_or(chain->unknown_members);
        chain->timeout_is_own |= middleware.handler_timeout().has_value();
        chain->handler_timeout = middleware.handler_timeout().value_or(chain->handler_timeout);
        if (middleware.access_log() != nullptr) chain->target = middleware.access_log();
        LayerPlace place{runner_.loop(), pool, runner_, states_, chain->handler_timeout, this};
        const Layer& layer = layers_.emplace_back(middleware.make(place));
        if (layer.rule != nullptr) {
            chain->rules.insert(layer.goes_first ? chain->rules.begin() : chain->rules.end(),
                                layer.rule);
        }
        if (layer.filter == nullptr) continue;
        // Rules run from the outside in, filters from the inside out.
        const auto last = static_cast<std::ptrdiff_t>(chain->last_filters);
        chain->last_filters += layer.goes_last ? 1 : 0;
        chain->filters.insert(
            layer.goes_last ? chain->filters.end() - last : chain->filters.begin(), layer.filter);
    }
    chains_.push_back(std::move(chain));
}

std::vector<AccessLogTarget> AppLoop::access_logs(const App& app) {
    std::vector<AccessLogTarget> all;
    for (const App::Scope& scope : app.scopes_) {
        for (const Middleware& middleware : scope.middleware) {
            const AccessLogTarget* const one = middleware.access_log();
            if (one == nullptr || one->path == "off") continue;
            if (std::ranges::find(all, *one) == all.end()) all.push_back(*one);
        }
    }
    return all;
}

void AppLoop::open_logs(AccessLog* otherwise,
                        unique_function<AccessLog*(const AccessLogTarget&)> find) {
    log_ = otherwise;
    for (const auto& chain : chains_) {
        const bool logs = chain->target != nullptr && chain->target->path != "off";
        chain->log = logs ? find(*chain->target) : nullptr;
    }
}

bool AppLoop::logs_answers() const {
    return log_ != nullptr || app_->on_answer_ ||
           std::ranges::any_of(chains_, [](const auto& chain) { return chain->log != nullptr; });
}

void AppLoop::write(const AccessRecord& record) {
    AccessLog* log = log_;
    if (record.route != nullptr) {  // only this class sets one
        const auto& chain = static_cast<const Chain&>(*record.route);
        if (chain.target != nullptr) log = chain.log;
    }
    if (log != nullptr) log->write(record);
    if (app_->on_answer_) app_->on_answer_(record);
}

// An error page first, so that filters see the answer that the client gets.
void AppLoop::Chain::filter(Exchange& exchange, Response& response) {
    if (error_pages != nullptr && response.status() >= 400) {
        error_pages->show(exchange, response, scope);
    }
    for (ResponseFilter* one : filters) one->filter(exchange, response);
}

AppLoop::ErrorPages::ErrorPages(const App& app, task::Runner& runner)
    : app_(&app), runner_(&runner) {
    for (std::uint32_t i = 0; i < app.scopes_.size(); ++i) {
        if (app.scopes_[i].error_page) prefixes_.push_back(i);
    }
    // The longest prefix claims a path first.
    std::ranges::stable_sort(prefixes_, std::ranges::greater(),
                             [&](std::uint32_t i) { return app.scopes_[i].prefix.size(); });
}

// Which group a path without a route belongs to. A prefix with parameters claims no such path.
std::uint32_t AppLoop::ErrorPages::scope_of(ByteView path) const {
    for (const std::uint32_t i : prefixes_) {
        const std::string& prefix = app_->scopes_[i].prefix;
        const bool claims = !prefix.empty() && path.starts_with(prefix) &&
                            (path.size() == prefix.size() || path[prefix.size()] == '/');
        if (claims) return i;
    }
    return 0;
}

void AppLoop::ErrorPages::show(Exchange& exchange, Response& response, std::uint32_t scope) const {
    // A path without a route passed the App's own chain, yet its group's error page should show it.
    if (scope == 0) scope = scope_of(exchange.request().path);
    std::vector<const ErrorPage*> pages;
    for (;; scope = app_->scopes_[scope].parent) {
        const App::Scope& one = app_->scopes_[scope];
        if (one.error_page) pages.push_back(&one.error_page);
        if (scope == 0) break;
    }
    app_parts::show_error(pages, exchange, response, *runner_);
}

Instant AppLoop::deadline(const Chain& chain) const {
    return moment_after(runner_.loop().now(), chain.handler_timeout);
}

void AppLoop::refuse(Exchange& exchange, const route::Found& found) const {
    if (found.kind == route::Found::Kind::nothing) return exchange.respond_status(404);
    // The path exists with other methods: Allow lists them (RFC 9110, 15.5.6), and OPTIONS asks for
    // just that.
    const bool asks = exchange.request().method() == wire::Method::options;
    Response response(asks ? 204 : 405);
    response.add(wire::FieldName::allow, found.allow);
    exchange.respond(response);
}

bool AppLoop::pass(Chain& chain, Exchange& exchange) {
    // Also leaves the exchange without a filter to call when it answers.
    if (chain.empty()) return true;
    exchange.set_route_filter(chain);
    while (exchange.route_access_done < chain.rules.size()) {
        // Counted before the call: a rule that decides later resumes the exchange behind itself.
        AccessRule& rule = *chain.rules[exchange.route_access_done++];
        if (rule.check(exchange) != AccessRule::Verdict::pass) return false;
    }
    return true;
}

// A known path passes the rules of its group even with a wrong method: a log-in comes before any
// answer about the path. A preflight passes those of the route that it asks about.
AppLoop::Chain& AppLoop::chain_of(const Request& request, route::Found found) const {
    if (found.kind == route::Found::Kind::nothing) return *chains_[0];
    if (found.kind == route::Found::Kind::wrong_method &&
        request.method() == wire::Method::options) {
        const ByteView method = request.field(wire::FieldName::access_control_request_method);
        route::Parameters unused;
        const route::Found asked = app_->router_for(request.authority)
                                       .find(wire::parse_method(method), request.path, unused);
        if (asked.kind == route::Found::Kind::route) found = asked;
    }
    return *chains_[app_->routes_[found.route].scope];
}

// Again for each rule that decided later.
void AppLoop::handle(Exchange& exchange) {
    const Request& request = exchange.request();
    // Once for each request, before any rule looks at the client's address.
    if (app_->proxies_ != nullptr && exchange.route_access_done == 0) {
        app_->proxies_->apply(exchange);
    }
    const bool connect = request.method() == wire::Method::connect;
    // Tunnels are not offered; over HTTP/2 a WebSocket is an extended CONNECT (RFC 8441).
    if (connect && request.protocol != "websocket") return exchange.respond_status(501);
    // "OPTIONS *" asks about the server as a whole (RFC 9110 9.3.7), whatever its routes are.
    if (request.path == "*") return exchange.respond_status(204);
    app_parts::Call call{exchange, runner_, states_};
    const char* const path = request.path.data();
    const route::Found found = find(request, call.parameters);
    if (connect && found.kind == route::Found::Kind::route &&
        !app_->routes_[found.route].endpoint->kind().is_websocket) {
        return exchange.respond_status(501);
    }
    Chain& chain = chain_of(request, found);
    if (!pass(chain, exchange)) return;
    if (found.kind != route::Found::Kind::route) return refuse(exchange, found);
    const App::Route& route = app_->routes_[found.route];
    // The token is in the body: the endpoint is called when it was found and is right.
    if (!chain.rules.empty() && app_parts::awaits_csrf_token(exchange)) {
        return read_form(route, exchange);
    }
    if (route.endpoint->kind().body == app_parts::BodyUse::whole)
        return collect_body(route, exchange);
    // What keeps views beyond this call needs the head where it stays: it lies in the connection's
    // receive buffer.
    if (route.endpoint->kind().keeps_views) exchange.pin();
    // Pinned just now, or by a rule: the head moved, and the parameters are views of where it was.
    if (request.path.data() != path) return find_and_call(exchange, route);
    prepare(call, route);
    app_parts::answer_problems(call.exchange, [&] { route.endpoint->call(call); });
}

void AppLoop::prepare(app_parts::Call& call, const App::Route& route) const {
    const Chain& chain = *chains_[route.scope];
    call.pattern = route.pattern;
    call.deadline = call_deadline(route, chain);
    call.body_bytes_max = chain.body_bytes_max;
    call.bodies = bodies_;
    if (!chain.timeout_is_own) call.pause_max = chain.handler_timeout;
    call.unknown_members = chain.unknown_members;
}

Instant AppLoop::call_deadline(const App::Route& route, const Chain& chain) const {
    const bool streamed = route.endpoint->kind().body == app_parts::BodyUse::streamed;
    // An upload takes as long as its bytes do, and body_timeout watches those; BodyStream watches
    // the handler's pauses. Only a limit that the route set itself is one for all.
    return streamed && !chain.timeout_is_own ? Instant::max() : deadline(chain);
}

// The parameters are looked up here, because the head may have moved since the route was found.
void AppLoop::find_and_call(Exchange& exchange, const App::Route& route, std::string body) {
    app_parts::Call call{exchange, runner_, states_};
    find(exchange.request(), call.parameters);
    prepare(call, route);
    call.body = std::move(body);
    app_parts::answer_problems(call.exchange, [&] { route.endpoint->call(call); });
}

// Keeps the body until all of it is there, and then calls the endpoint.
class AppLoop::BodyCollector final : public app_parts::WholeBody {
  public:
    BodyCollector(AppLoop& loop, const App::Route& route, Exchange& exchange)
        : WholeBody(loop.bodies_, exchange), loop_(&loop), route_(&route) {}

  private:
    void on_body(Exchange&, ByteView bytes) override { keep(bytes); }
    void on_body_end(Exchange& exchange) override {
        if (route_->endpoint->kind().keeps_views) exchange.pin();
        loop_->find_and_call(exchange, *route_, take());
    }
    void on_body_failed(Exchange&) override { take(); }

    AppLoop* loop_;
    const App::Route* route_;
};

// As BodyCollector, until the form has shown its token. An endpoint that takes the body as it comes
// has the rest of it from there on.
//
//   body -> check -> need_more
//                \-> bad -> 403
//                \-> good -> [the rest] -> endpoint
class AppLoop::FormReader final : public app_parts::WholeBody {
  public:
    FormReader(AppLoop& loop, const App::Route& route, Exchange& exchange)
        : WholeBody(loop.bodies_, exchange), loop_(&loop), route_(&route) {}

  private:
    void on_body(Exchange& exchange, ByteView bytes) override {
        if (!keep(bytes)) return;
        if (app_parts::awaits_csrf_token(exchange) && check(exchange, false))
            go_on(exchange, false);
    }
    void on_body_end(Exchange& exchange) override {
        if (!app_parts::awaits_csrf_token(exchange) || check(exchange, true)) go_on(exchange, true);
    }
    void on_body_failed(Exchange&) override { take(); }

    bool check(Exchange& exchange, bool ended) {
        const auto found = app_parts::check_csrf_token(exchange, held(), ended);
        if (found != app_parts::FormCheck::bad) return found == app_parts::FormCheck::good;
        exchange.withdraw_body();  // this object lives until its call returns
        app_parts::refuse_csrf(exchange);
        return false;
    }
    void go_on(Exchange& exchange, bool ended) {
        const bool streamed = route_->endpoint->kind().body == app_parts::BodyUse::streamed;
        // The token was good. An endpoint that takes the whole body is called at its end.
        if (!streamed && !ended) return;
        AppLoop& loop = *loop_;
        const App::Route& route = *route_;
        std::string body = take();
        // BodyStream brings a receiver of its own; the call carries the bytes read so far.
        if (streamed) exchange.withdraw_body();
        if (route.endpoint->kind().keeps_views) exchange.pin();
        loop.find_and_call(exchange, route, std::move(body));
    }

    AppLoop* loop_;
    const App::Route* route_;
};

void AppLoop::read_form(const App::Route& route, Exchange& exchange) {
    exchange.receive_body(std::make_unique<FormReader>(*this, route, exchange),
                          chains_[route.scope]->body_bytes_max);
}

void AppLoop::collect_body(const App::Route& route, Exchange& exchange) {
    exchange.receive_body(std::make_unique<BodyCollector>(*this, route, exchange),
                          chains_[route.scope]->body_bytes_max);
}

}  // namespace tiderace::http
