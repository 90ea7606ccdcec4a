#include "tiderace/http/app/app_loop.h"

#include <array>
#include <utility>

#include "tiderace/http/wire/framing.h"

namespace tiderace::http {

AppLoop::AppLoop(core::EventLoop& loop, const App& app, core::WorkerPool* pool)
    : app_(&app), runner_(loop, pool) {
    for (const App::State& state : app.states_) {
        if (state.shared != nullptr) {
            states_.add({state.key, state.shared, true});
            continue;
        }
        owned_.push_back(state.make(loop));
        states_.add({state.key, owned_.back().get(), false});
    }
}

Instant AppLoop::deadline() const {
    const Duration limit = app_->options_.handler_timeout;
    const Instant now = runner_.loop().now();
    return limit < Instant::max() - now ? now + limit : Instant::max();
}

void AppLoop::refuse(Exchange& exchange, const route::Found& found) const {
    if (found.kind == route::Found::Kind::nothing) return exchange.respond_status(404);
    const bool asks = exchange.request().method() == wire::Method::options;
    Response response(asks ? 204 : 405);
    response.add(wire::FieldName::allow, found.allow);
    exchange.respond(response);
}

void AppLoop::handle(Exchange& exchange) {
    const Request& request = exchange.request();
    if (request.method() == wire::Method::connect) return exchange.respond_status(501);
    // "OPTIONS *" asks about the server as a whole (RFC 9110 9.3.7), whatever its routes are.
    if (request.path == "*") return exchange.respond_status(204);
    route::Parameters parameters;
    const route::Found found = app_->router_.find(request.method(), request.path, parameters);
    if (found.kind != route::Found::Kind::route) return refuse(exchange, found);
    const App::Route& route = app_->routes_[found.route];
    app::Call call{exchange, runner_, states_, route.pattern, deadline(), parameters};
    if (route.endpoint->takes_body()) return collect_body(route, call);
    if (route.endpoint->keeps_views()) {
        exchange.pin();
        app_->router_.find(request.method(), exchange.request().path, call.parameters);
    }
    route.endpoint->call(call);
}

// Keeps the body until all of it is there, and then calls the endpoint. The parameters are looked
// up again, because the head may lie elsewhere by then.
class AppLoop::BodyCollector final : public BodyReceiver {
  public:
    BodyCollector(AppLoop& loop, const App::Route& route) : loop_(&loop), route_(&route) {}

  private:
    void on_body(Exchange&, ByteView bytes) override { body_.append(bytes); }
    void on_body_end(Exchange& exchange) override {
        if (route_->endpoint->keeps_views()) exchange.pin();
        const Request& request = exchange.request();
        app::Call call{exchange, loop_->runner_, loop_->states_, route_->pattern,
                       loop_->deadline()};
        loop_->app_->router_.find(request.method(), request.path, call.parameters);
        call.body = std::move(body_);
        route_->endpoint->call(call);
    }
    void on_body_failed(Exchange&) override { body_ = {}; }

    AppLoop* loop_;
    const App::Route* route_;
    std::string body_;
};

void AppLoop::collect_body(const App::Route& route, app::Call& call) {
    call.exchange.receive_body(std::make_unique<BodyCollector>(*this, route),
                               app_->options_.body_bytes_max);
}

}  // namespace tiderace::http
