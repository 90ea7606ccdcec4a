#include "tiderace/http/app/reply.h"

#include <array>
#include <chrono>

#include "tiderace/http/app/stream.h"
#include "tiderace/http/wire/field_syntax.h"
#include "tiderace/http/wire/percent.h"
#include "tiderace/http/wire/status.h"
#include "tiderace/json/writer.h"

namespace tiderace::http {

Reply::Reply(int status) : status_(status) {}
Reply::Reply(Reply&& other) noexcept = default;
Reply& Reply::operator=(Reply&& other) noexcept = default;
Reply::~Reply() = default;

Reply& Reply::header(std::string name, std::string value) & {
    fields_.emplace_back(std::move(name), std::move(value));
    return *this;
}
Reply&& Reply::header(std::string name, std::string value) && {
    return std::move(header(std::move(name), std::move(value)));
}

Reply& Reply::cookie(const Cookie& cookie) & {
    wire::SetCookie one{.name = cookie.name,
                        .value = cookie.value,
                        .path = cookie.path,
                        .domain = cookie.domain,
                        .same_site = cookie.same_site,
                        .secure = cookie.secure,
                        .http_only = cookie.http_only,
                        .partitioned = cookie.partitioned};
    if (cookie.max_age) {
        one.max_age = std::chrono::duration_cast<std::chrono::seconds>(*cookie.max_age).count();
    }
    std::array<char, wire::set_cookie_bytes_max> memory;
    wire::BoundedText text(memory);
    if (!wire::append_set_cookie(text, one)) {
        // Reported by send(), which has a log.
        cookie_fault_ = wire::check_cookie(one);
        return *this;
    }
    return header("Set-Cookie", std::string(text.view()));
}
Reply&& Reply::cookie(const Cookie& one) && {
    return std::move(cookie(one));
}

Reply&& Reply::text(std::string body) && {
    return std::move(*this).body("text/plain; charset=utf-8", std::move(body));
}
Reply&& Reply::html(std::string body) && {
    return std::move(*this).body("text/html; charset=utf-8", std::move(body));
}
Reply&& Reply::body(std::string type, std::string bytes) && {
    // The last body() wins, so the kinds that were set before are dropped.
    type_ = std::move(type);
    body_ = std::move(bytes);
    source_.reset();
    pieces_.reset();
    return std::move(*this);
}
Reply&& Reply::body(std::string type, task::Generator<std::string> pieces) && {
    type_ = std::move(type);
    body_.clear();
    source_.reset();
    pieces_ = std::move(pieces);
    return std::move(*this);
}
Reply&& Reply::body(std::string type, std::unique_ptr<BodySource> source) && {
    type_ = std::move(type);
    body_.clear();
    source_ = std::move(source);
    pieces_.reset();
    return std::move(*this);
}

void Reply::log_cookie_fault(log::Logger* log) const {
    if (cookie_fault_ == wire::CookieFault::none || log == nullptr) return;
    log->error("http", "a cookie was not set", log::field("why", to_string(cookie_fault_)));
}

void Reply::make_source(Exchange& exchange, task::Runner& runner) {
    if (!pieces_) return;
    source_ = std::make_unique<GeneratorSource>(exchange, runner, std::move(*pieces_));
    pieces_.reset();
}

void Reply::answer(Exchange& exchange, task::Runner& runner) && {
    make_source(exchange, runner);
    std::move(*this).send(exchange);
}

// A line break would begin a field of the caller's input: such a value is not sent. In a Location
// it is escaped, as is all that a URI cannot hold.
void Reply::add_field(Response& response, ByteView name, ByteView value) {
    if (!wire::is_token(name)) return;
    if (equals_ignoring_case(name, "Location")) {
        if (value.empty()) return;
        std::string memory(wire::uri_growth_max * value.size(), '\0');
        wire::BoundedText uri(memory);
        wire::append_uri_reference(uri, value);
        response.add(wire::FieldName::location, response.keep(uri.view()));
    } else if (wire::is_field_value(value)) {
        response.add(name, value);
    }
}

void Reply::add_fields(Response& response) const {
    for (const auto& [name, value] : fields_) add_field(response, name, value);
}

void Reply::send(Exchange& exchange, std::string_view type, std::string_view body) && {
    log_cookie_fault(exchange.loop().log());
    Response response(status_);
    response.add(wire::FieldName::content_type, type);
    add_fields(response);
    response.set_body(body);
    exchange.respond(response);
}

void Reply::send(Exchange& exchange) && {
    log_cookie_fault(exchange.loop().log());
    Response response(status_);
    if (!type_.empty()) response.add(wire::FieldName::content_type, type_);
    add_fields(response);
    if (source_ != nullptr) {
        response.set_body(std::move(source_));
        // A body without a type is no body: 204 and redirects are replies that had none set.
    } else if (!type_.empty()) {
        response.set_body(std::move(body_));
    }
    exchange.respond(response);
}

// As answer(), but the response outlives this object, so it keeps the texts.
void Reply::dress(Response& response, Exchange& exchange, task::Runner& runner) && {
    make_source(exchange, runner);
    for (const auto& [name, value] : fields_) {
        add_field(response, response.keep(name), response.keep(value));
    }
    if (type_.empty()) return response.drop_body();
    response.set(wire::FieldName::content_type, response.keep(type_));
    if (source_ != nullptr) return response.set_body(std::move(source_));
    response.set_body(std::move(body_));
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
            out.begin_object();
            if (!fault.name.empty()) out.key("name").value(fault.name);
            out.key("detail").value(fault.detail).end_object();
        }
        out.end_array();
    }
    out.end_object();
    out.flush();
    return Reply(status).body("application/problem+json", std::move(text));
}

}  // namespace tiderace::http
