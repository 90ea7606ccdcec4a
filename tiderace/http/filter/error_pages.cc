#include "tiderace/http/filter/error_pages.h"

#include <algorithm>
#include <utility>

#include "tiderace/base/utf8.h"
#include "tiderace/core/whole_file.h"
#include "tiderace/http/page_style.h"
#include "tiderace/http/wire/accept.h"
#include "tiderace/http/wire/mime.h"
#include "tiderace/http/wire/status.h"
#include "tiderace/http/wire/text/html_escape.h"
#include "tiderace/http/wire/text/json_escape.h"

namespace tiderace::http::filter {
namespace {

using wire::FieldName;

struct Explanation {
    int status;
    ByteView what;  // happened
    ByteView todo;  // what the reader can do about it
};

constexpr Explanation explanations[] = {
    {400, "The request was not valid HTTP.", "Check the address, or the program that sent it."},
    {401, "This page asks for a name and a password.", "Reload it and sign in."},
    {403, "You may not see this.", "If you should, ask the people who run this site."},
    {404, "There is nothing at this address.", "Check its spelling."},
    {405, "This address does not take that method.", "The Allow field says which it takes."},
    {406, "There is no version of this that your client accepts.",
     "Ask with another Accept field."},
    {408, "The request took too long to arrive.", "Try again."},
    {412, "This has changed since you loaded it.", "Load it again before you change it."},
    {413, "The request is larger than this server accepts.", "Send less at a time."},
    {414, "The address is too long.", "Shorten it."},
    {416, "The requested part lies beyond the end.", "Ask for all of it."},
    {429, "Too many requests in a short time.", "Wait a little, then try again."},
    {431, "The request's fields are too large.", "Clearing this site's cookies often helps."},
    {500, "Something went wrong here, not with you.",
     "Try again; if it stays, tell the people who run this site."},
    {501, "This server does not know that method.", "Use another one."},
    {502, "The server behind this one gave no proper answer.", "Try again in a moment."},
    {503, "The server is too busy right now.", "Try again in a moment."},
    {504, "The server behind this one took too long.", "Try again in a moment."},
    {505, "This server speaks HTTP/1.0 and HTTP/1.1.", "Use one of these."},
};

Explanation explain(int status) {
    for (const Explanation& known : explanations) {
        if (known.status == status) return known;
    }
    if (status >= 500) return {status, "The server could not do this.", "Try again in a moment."};
    return {status, "The request could not be answered.", "Check it and try again."};
}

ByteView title_of(int status) {
    const ByteView reason = wire::reason_phrase(status);
    return reason.empty() ? ByteView("Error") : reason;
}

constexpr ByteView layout_style = R"(
body{min-height:100vh;display:grid;place-items:center;padding:1.5rem}
main{max-width:34rem;width:100%}
p{margin:.4rem 0}
.code{font-size:clamp(4rem,18vw,7rem);font-weight:700;line-height:1;
letter-spacing:-.04em;color:var(--tide);margin:0}
h1{font-size:1.4rem;margin:.6rem 0 .4rem}.path{overflow-wrap:anywhere}
.soft{color:var(--soft)}nav{margin-top:1.6rem}
)";

// Nothing may load and nothing may run, whatever a page holds.
constexpr ByteView page_policy =
    "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'; "
    "frame-ancestors 'none'";

using Escape = bool (*)(wire::BoundedText&, ByteView);

// html_growth_max and json_growth_max
constexpr std::size_t growth_max = 6;
static_assert(wire::html_growth_max == growth_max && wire::json_growth_max == growth_max);

void append_escaped(std::string& page, ByteView text, Escape escape) {
    wire::append_bounded(page, text.size() * growth_max,
                         [&](wire::BoundedText& room) { escape(room, text); });
}

// As much of the path as a page shows: whole UTF-8 sequences, so that none is cut in half.
void append_path(std::string& page, ByteView path, Escape escape) {
    const ByteView shown = whole_characters(path, ErrorPages::path_shown_bytes_max);
    append_escaped(page, shown, escape);
    if (shown.size() < path.size()) page += "\u2026";
}

std::string html_before(int status) {
    const std::string code = std::to_string(status);
    std::string page = "<!doctype html>\n<html lang=\"en\">\n<meta charset=\"utf-8\">\n<title>";
    page.append(code).append(" ").append(title_of(status));
    page +=
        "</title>\n<meta name=\"viewport\" content=\"width=device-width,initial-scale=1\">\n"
        "<meta name=\"robots\" content=\"noindex\">\n<style>";
    page.append(page_style).append(layout_style).append("</style>\n<main>\n<p class=\"code\">");
    page.append(code).append("</p>\n<h1>").append(title_of(status)).append("</h1>\n");
    return page;
}

// "": the status is the reason.
std::string html_reason(int status, ByteView why) {
    const Explanation text = explain(status);
    std::string page = "<p>";
    append_escaped(page, why.empty() ? text.what : why, wire::append_html);
    page.append("</p>\n<p class=\"soft\">").append(text.todo).append("</p>\n");
    return page;
}

// A problem of RFC 9457, as a Problem of an App is, with two members of ours.
void append_json_page(std::string& page, int status, ByteView why, ByteView path) {
    const Explanation text = explain(status);
    page.append("{\"title\":\"").append(title_of(status));
    page.append("\",\"status\":").append(std::to_string(status)).append(",\"detail\":\"");
    append_escaped(page, why.empty() ? text.what : why, wire::append_json);
    if (!path.empty()) {
        page += "\",\"path\":\"";
        append_path(page, path, wire::append_json);
    }
    page.append("\",\"advice\":\"").append(text.todo).append("\"}\n");
}

}  // namespace

Result<ErrorPages> ErrorPages::load(const std::map<int, std::string>& files, Others others) {
    ErrorPages pages;
    pages.others_ = others;
    const wire::MimeTable mime;
    for (const auto& [status, path] : files) {
        auto bytes = core::read_file(path, page_bytes_max, "read error page");
        if (!bytes) return fail(bytes.error());
        auto page = core::make_ref<Page>();
        page->bytes = std::move(*bytes);
        page->content_type = mime.type_of(path);
        pages.pages_[status] = std::move(page);
    }
    return pages;
}

void ErrorPages::filter(Exchange& exchange, Response& response) {
    const int status = response.status();
    const ByteView why = response.explanation();
    // A body with an explanation is the short text that the server itself wrote.
    if (status < 400 || (response.has_body() && why.empty())) return;
    if (const auto page = pages_.find(status); page != pages_.end()) {
        return show(page->second, response);
    }
    if (others_ == Others::are_left) return;
    response.add(FieldName::vary, "Accept");
    const bool json = wire::prefers_json(exchange.request().header(FieldName::accept));
    response.set(FieldName::content_type,
                 json ? "application/problem+json" : "text/html; charset=utf-8");
    // The page quotes the path, so its type must not be guessed.
    response.set(FieldName::x_content_type_options, "nosniff");
    if (!json) response.set("Content-Security-Policy", page_policy);
    const ByteView path = exchange.request().path;
    // The memory of the last page is used again, unless an answer that waits for its peer has it.
    if (!built_.only_owner()) built_ = core::make_ref<BuiltPage>();
    std::string& page = built_->bytes;
    if (json) {
        page.clear();
        built_->begins_with = nullptr;
        append_json_page(page, status, why, path);
    } else {
        build_html_page(*built_, status, why, path);
    }
    response.set_body(page, built_);
}

void ErrorPages::build_html_page(BuiltPage& built, int status, ByteView why, ByteView path) {
    HtmlParts& parts = html_parts_[status];
    if (parts.reason.empty()) parts = {html_before(status), html_reason(status, {})};
    std::string& page = built.bytes;
    // Usually the last page had the same status, and begins in the same way.
    if (built.begins_with == &parts) {
        page.resize(parts.before.size());
    } else {
        built.begins_with = nullptr;
        page = parts.before;
        built.begins_with = &parts;
    }
    if (!path.empty()) {
        page += ByteView("<p class=\"path\"><code>");
        append_path(page, path, wire::append_html);
        page += ByteView("</code></p>\n");
    }
    if (why.empty()) {
        page += parts.reason;
    } else {
        page += html_reason(status, why);
    }
    // The front page has nowhere better to lead to.
    if (path != "/") page += ByteView("<nav><a href=\"/\">Go to the front page</a></nav>\n");
    page += ByteView("</main>\n</html>\n");
}

// However many clients request it and then read nothing, a large one is in memory once.
void ErrorPages::show(const core::Ref<Page>& page, Response& response) {
    response.set(FieldName::content_type, page->content_type);
    if (page->bytes.size() <= copied_bytes_max) return response.set_body(ByteView(page->bytes));
    core::SendQueue queue;
    queue.append_shared(page->bytes, page);
    response.set_body(std::move(queue));
}

}  // namespace tiderace::http::filter
