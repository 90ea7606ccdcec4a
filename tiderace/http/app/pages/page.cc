#include "tiderace/http/app/pages/page.h"

#include <utility>

#include "tiderace/http/app/pages/template_folder.h"
#include "tiderace/text/escape.h"

namespace tiderace::http {
namespace {

// nullopt: strangers do not see what is wrong.
std::optional<Reply> reply_of_fault(core::EventLoop& loop, const std::string& fault, bool shown) {
    if (log::Logger* const log = loop.log()) {
        log->error("http", "a page cannot be shown", log::field("why", fault));
    }
    if (!shown) return std::nullopt;
    std::string html =
        "<!doctype html><meta charset=\"utf-8\"><title>A template is broken</title>\n<pre>";
    text::append_escaped(html, text::Escape::html, fault);
    return Reply(500).html(html + "</pre>\n");
}

}  // namespace

void Page::answer(Exchange& exchange, task::Runner& runner) && {
    auto made = std::move(*this).make(runner);
    if (!made) return exchange.respond_status(500);
    std::move(*made).send(exchange);
}

std::optional<Reply> Page::make(task::Runner& runner) && {
    app::TemplateFolder* const pages = runner.local<app::LoopPages>().pages;
    if (pages == nullptr) {
        // App::fault() reports this before serving for pages that are declared results. A page that
        // a handler makes in another way comes here.
        return reply_of_fault(runner.loop(), name_ + ": App::templates was not called", false);
    }
    auto made = pages->render(name_, {type_, value_.get()});
    if (!made) return reply_of_fault(runner.loop(), made.error(), pages->shows_faults());
    const std::string_view type = name_.ends_with(".txt") ? "text/plain" : "text/html";
    return std::move(reply_).body(std::string(type) + "; charset=utf-8", std::move(*made));
}

}  // namespace tiderace::http
