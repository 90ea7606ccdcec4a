#include "tiderace/http/app/route_handler.h"

#include <utility>

#include "tiderace/base/moment.h"
#include "tiderace/http/app/app_loop.h"
#include "tiderace/http/app/body/whole_body.h"
#include "tiderace/http/app/csrf.h"

namespace tiderace::http::app_parts {

namespace {

class Running {
  public:
    Running(std::atomic<const Matched*>& at, const Matched* matched) : at_(at) {
        at_.store(matched, std::memory_order_relaxed);
    }
    ~Running() { at_.store(nullptr, std::memory_order_relaxed); }
    Running(const Running&) = delete;
    Running& operator=(const Running&) = delete;

  private:
    std::atomic<const Matched*>& at_;
};

}  // namespace

// Keeps the body until all of it is there, and then calls the endpoint.
class RouteHandler::BodyCollector final : public WholeBody {
  public:
    BodyCollector(RouteHandler& route, Exchange& exchange)
        : WholeBody(route.loop_->bodies(), exchange), route_(&route) {}

  private:
    void on_body(Exchange&, ByteView bytes) override { keep(bytes); }
    void on_body_end(Exchange& exchange) override { route_->call(exchange, take()); }
    void on_body_failed(Exchange&) override { take(); }

    RouteHandler* route_;
};

// As BodyCollector, until the form has shown its token. An endpoint that takes the body as it comes
// has the rest of it from there on.
//
//   body -> check -> need_more
//                \-> bad -> 403
//                \-> good -> [the rest] -> endpoint
class RouteHandler::FormReader final : public WholeBody {
  public:
    FormReader(RouteHandler& route, Exchange& exchange)
        : WholeBody(route.loop_->bodies(), exchange), route_(&route) {}

  private:
    void on_body(Exchange& exchange, ByteView bytes) override {
        if (!keep(bytes)) return;
        if (awaits_csrf_token(exchange) && check(exchange, false)) go_on(exchange, false);
    }
    void on_body_end(Exchange& exchange) override {
        if (!awaits_csrf_token(exchange) || check(exchange, true)) go_on(exchange, true);
    }
    void on_body_failed(Exchange&) override { take(); }

    bool check(Exchange& exchange, bool ended) {
        const auto found = check_csrf_token(exchange, held(), ended);
        if (found != FormCheck::bad) return found == FormCheck::good;
        exchange.withdraw_body();  // this object lives until its call returns
        refuse_csrf(exchange);
        return false;
    }
    void go_on(Exchange& exchange, bool ended) {
        const bool streamed = route_->endpoint_->kind().body == BodyUse::streamed;
        // The token was good. An endpoint that takes the whole body is called at its end.
        if (!streamed && !ended) return;
        RouteHandler& route = *route_;
        std::string body = take();
        // BodyStream brings a receiver of its own; the call carries the bytes read so far.
        if (streamed) exchange.withdraw_body();
        route.call(exchange, std::move(body));
    }

    RouteHandler* route_;
};

RouteHandler::RouteHandler(const Endpoint& endpoint, LayerPlace& place)
    : endpoint_(&endpoint),
      loop_(&place.states.get<AppLoop>()),
      pattern_(place.pattern),
      part_(endpoint.make_part(place)) {}

std::uint64_t RouteHandler::body_bytes_max(const Exchange& exchange) const {
    return exchange.chain()->body_bytes_max.value_or(loop_->app().options().body_bytes_max);
}

void RouteHandler::handle(Exchange& exchange) {
    // The token is in the body: the endpoint is called when it was found and is right.
    if (awaits_csrf_token(exchange)) {
        exchange.receive_body(std::make_unique<FormReader>(*this, exchange),
                              body_bytes_max(exchange));
    } else if (endpoint_->kind().body == BodyUse::whole) {
        exchange.receive_body(std::make_unique<BodyCollector>(*this, exchange),
                              body_bytes_max(exchange));
    } else {
        call(exchange);
    }
}

void RouteHandler::call(Exchange& exchange, std::string body) {
    // What keeps views beyond this call needs the head where it stays: it lies in the connection's
    // receive buffer.
    if (endpoint_->kind().keeps_views) exchange.pin();
    const Chain& chain = *exchange.chain();
    const AppOptions& options = loop_->app().options();
    const Duration timeout = chain.handler_timeout.value_or(options.handler_timeout);
    // An upload takes as long as its bytes do, and body_timeout watches those; BodyStream watches
    // the handler's pauses. Only a limit that the route set itself is one for all.
    const bool is_own = chain.handler_timeout.has_value();
    const bool streamed = endpoint_->kind().body == BodyUse::streamed;
    Call call{exchange, loop_->runner(), loop_->states(), pattern_};
    call.deadline =
        streamed && !is_own ? Instant::max() : moment_after(exchange.loop().now(), timeout);
    call.body_bytes_max = body_bytes_max(exchange);
    call.bodies = loop_->bodies();
    if (!is_own) call.pause_max = timeout;
    call.unknown_members = chain.unknown_members.value_or(options.unknown_members);
    call.part = part_.get();
    call.body = std::move(body);
    const Running running(loop_->running(), exchange.matched());
    answer_problems(exchange, [&] { endpoint_->call(call); });
}

}  // namespace tiderace::http::app_parts
