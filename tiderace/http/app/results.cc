#include "tiderace/http/app/results.h"

#include "tiderace/http/generator_source.h"

namespace tiderace::http::app_parts {

void answer_text(Exchange& exchange, std::string text) {
    exchange.respond(Response().text(std::move(text)));
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

// A cache or a proxy that gathers the pieces would make a stream useless.
void answer_stream(Exchange& exchange, task::Generator<std::string> pieces) {
    exchange.respond(Response()
                         .header("Cache-Control", "no-store")
                         .body("text/plain; charset=utf-8", std::move(pieces)));
}

void answer_events(Exchange& exchange, Events events) {
    auto source = std::make_unique<GeneratorSource>(std::move(events).take());
    source->end_when_draining();
    exchange.respond(Response()
                         .header("Cache-Control", "no-store")
                         .body("text/event-stream", std::move(source)));
}

}  // namespace tiderace::http::app_parts
