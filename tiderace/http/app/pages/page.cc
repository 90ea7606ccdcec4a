#include "tiderace/http/app/pages/page.h"

#include <utility>

#include "tiderace/http/app/pages/template_folder.h"
#include "tiderace/text/escape.h"

namespace tiderace::http {
namespace {

void answer_fault(Exchange& exchange, const std::string& fault, bool shown) {
    if (log::Logger* const log = exchange.loop().log()) {
        log->error("http", "a page cannot be shown", log::field("why", fault));
    }
    if (!shown) return exchange.respond_status(500);
    std::string html =
        "<!doctype html><meta charset=\"utf-8\"><title>A template is broken</title>\n<pre>";
    text::append_escaped(html, text::Escape::html, fault);
    Reply(500).html(html + "</pre>\n").send(exchange);
}

}  // namespace

void Page::answer(Exchange& exchange, task::Runner& runner) && {
    app::TemplateFolder* const pages = runner.local<app::LoopPages>().pages;
    if (pages == nullptr) {
        return answer_fault(exchange, name_ + ": App::templates was not called", false);
    }
    auto made = pages->render(name_, {type_, value_.get()});
    if (!made) return answer_fault(exchange, made.error(), pages->shows_faults());
    const std::string_view type = name_.ends_with(".txt") ? "text/plain" : "text/html";
    std::move(reply_).body(std::string(type) + "; charset=utf-8", std::move(*made)).send(exchange);
}

}  // namespace tiderace::http
