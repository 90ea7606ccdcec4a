#include "tiderace/http/handler/readme.h"

#include "tiderace/http/wire/html_escape.h"

namespace tiderace::http::handler {
namespace {

std::string escape(ByteView text) {
    std::string out(text.size() * wire::html_growth_max, '\0');
    wire::BoundedText bounded(out);
    wire::append_html(bounded, text);
    out.resize(bounded.size());
    return out;
}

}  // namespace

std::string readme_html(ByteView, ByteView text) {
    return "<pre class=\"plain\">" + escape(text) + "</pre>\n";
}

}  // namespace tiderace::http::handler
