#include "tiderace/http/app/results.h"

namespace tiderace::http::app_parts {

void answer_text(Exchange& exchange, std::string text) {
    Response response;
    response.add(wire::FieldName::content_type, "text/plain; charset=utf-8");
    response.set_body(std::move(text));
    exchange.respond(response);
}

void answer_text(Exchange& exchange, std::string_view lasting) {
    Response response;
    response.add(wire::FieldName::content_type, "text/plain; charset=utf-8");
    response.set_body(lasting);
    exchange.respond(response);
}

void answer_json(Exchange& exchange, std::string text) {
    Response response;
    response.add(wire::FieldName::content_type, "application/json");
    response.set_body(std::move(text));
    exchange.respond(response);
}

namespace {

void answer_with(Exchange& exchange, std::string_view type,
                 std::unique_ptr<GeneratorSource> source) {
    Response response;
    response.add(wire::FieldName::content_type, type);
    // A cache or a proxy that gathers the pieces would make a stream useless.
    response.add(wire::FieldName::cache_control, "no-store");
    response.set_body(std::move(source));
    exchange.respond(response);
}

}  // namespace

void answer_stream(Exchange& exchange, task::Runner& runner, task::Generator<std::string> pieces) {
    answer_with(exchange, "text/plain; charset=utf-8",
                std::make_unique<GeneratorSource>(exchange, runner, std::move(pieces)));
}

void answer_events(Exchange& exchange, task::Runner& runner, Events events) {
    auto source = std::make_unique<GeneratorSource>(exchange, runner, std::move(events).take());
    source->end_when_draining();
    answer_with(exchange, "text/event-stream", std::move(source));
}

}  // namespace tiderace::http::app_parts
