#include "tiderace/http/app/reply.h"

#include "tiderace/http/wire/field_syntax.h"
#include "tiderace/http/wire/status.h"
#include "tiderace/json/writer.h"

namespace tiderace::http {

Reply& Reply::field(std::string name, std::string value) & {
    fields_.emplace_back(std::move(name), std::move(value));
    return *this;
}
Reply&& Reply::field(std::string name, std::string value) && {
    return std::move(field(std::move(name), std::move(value)));
}

Reply&& Reply::text(std::string body) && {
    return std::move(*this).body("text/plain; charset=utf-8", std::move(body));
}
Reply&& Reply::html(std::string body) && {
    return std::move(*this).body("text/html; charset=utf-8", std::move(body));
}
Reply&& Reply::body(std::string type, std::string bytes) && {
    type_ = std::move(type);
    body_ = std::move(bytes);
    source_.reset();
    return std::move(*this);
}
Reply&& Reply::body(std::string type, std::unique_ptr<BodySource> source) && {
    type_ = std::move(type);
    body_.clear();
    source_ = std::move(source);
    return std::move(*this);
}

void Reply::send(Exchange& exchange) && {
    Response response(status_);
    if (!type_.empty()) response.add(wire::FieldName::content_type, type_);
    for (const auto& [name, value] : fields_) {
        // A line break would begin a field of the caller's input: it is not sent.
        if (wire::is_token(name) && wire::is_field_value(value)) response.add(name, value);
    }
    if (source_ != nullptr) {
        response.set_body(std::move(source_));
    } else if (!type_.empty()) {
        response.set_body(std::move(body_));
    }
    exchange.respond(response);
}

Reply Problem::reply() const {
    std::string text;
    json::Writer out(text);
    out.begin_object();
    out.key("title").value(title.empty() ? wire::reason_phrase(status) : std::string_view(title));
    out.key("status").value(status);
    if (!detail.empty()) out.key("detail").value(detail);
    if (!faults.empty()) {
        out.key("errors").begin_array();
        for (const Fault& fault : faults) {
            out.begin_object().key("name").value(fault.name);
            out.key("detail").value(fault.detail).end_object();
        }
        out.end_array();
    }
    out.end_object();
    out.flush();
    return Reply(status).body("application/problem+json", std::move(text));
}

}  // namespace tiderace::http
