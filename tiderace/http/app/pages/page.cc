#include "tiderace/http/app/pages/page.h"

#include <string_view>
#include <utility>

#include "tiderace/http/app/pages/template_folder.h"
#include "tiderace/text/escape.h"

namespace tiderace::http {
namespace {

// nullopt: strangers do not see what is wrong.
std::optional<Response> response_of_fault(core::EventLoop& loop, const std::string& fault,
                                          bool shown) {
    if (log::Logger* const log = loop.log()) {
        log->error("http", "a page cannot be shown", log::field("why", fault));
    }
    if (!shown) return std::nullopt;
    std::string html =
        "<!doctype html><meta charset=\"utf-8\"><title>A template is broken</title>\n<pre>";
    text::append_escaped(html, text::Escape::html, fault);
    return Response(500).html(html + "</pre>\n");
}

}  // namespace

void Page::answer(Exchange& exchange, task::Runner& runner) && {
    app_parts::LoopPages& loop = runner.local<app_parts::LoopPages>();
    // Taken away meanwhile, because answering may call the handler of the next request.
    std::string text = std::exchange(loop.room, std::string());
    if (auto fault = render(text, runner)) {
        if (!fault->shown) return exchange.respond_status(500);
        return exchange.respond(*fault->shown);
    }
    content_->response.set(wire::FieldName::content_type, type());
    content_->response.set_body(ByteView(text));
    exchange.respond(content_->response);
    if (text.capacity() > app_parts::LoopPages::room_bytes_max) return;
    text.clear();
    loop.room = std::move(text);
}

std::optional<Response> Page::make(task::Runner& runner) && {
    std::string text;
    if (auto fault = render(text, runner)) return std::move(fault->shown);
    return std::move(content_->response).body(type(), std::move(text));
}

std::string_view Page::type() const {
    return content_->name.ends_with(".txt") ? "text/plain; charset=utf-8"
                                            : "text/html; charset=utf-8";
}

std::optional<Page::Fault> Page::render(std::string& out, task::Runner& runner) const {
    app_parts::TemplateFolder* const pages = runner.local<app_parts::LoopPages>().pages;
    if (pages == nullptr) {
        // App::fault() reports this before serving for pages that are declared results. A page that
        // a handler makes in another way comes here.
        return Fault{response_of_fault(runner.loop(),
                                       content_->name + ": App::templates was not called", false)};
    }
    const auto done = pages->render(out, content_->name, content_->value);
    if (done) return std::nullopt;
    return Fault{response_of_fault(runner.loop(), done.error(), pages->shows_faults())};
}

}  // namespace tiderace::http
