#include "tiderace/http/app/call.h"

#include "tiderace/http/wire/field_syntax.h"

namespace tiderace::http::app_parts {
namespace {

// The name of the parameter at `index`.
std::string_view parameter_name(std::string_view pattern, std::size_t index) {
    for (route::Segments segments(pattern); !segments.done();) {
        const route::Segment segment = segments.next();
        if (segment.kind != route::Segment::Kind::literal && index-- == 0) return segment.text;
    }
    return {};
}

int status_of(json::Error::Kind kind) {
    switch (kind) {
        case json::Error::Kind::too_large:
            return 413;
        // 422: it is JSON, and its content does not fit (RFC 9110, 15.5.21).
        case json::Error::Kind::content:
            return 422;
        case json::Error::Kind::syntax:
        case json::Error::Kind::too_deep:
            break;
    }
    return 400;
}

// Without its name, which stands beside it in the answer.
std::string sentence(const json::Fault& fault) {
    return fault.found.empty() ? fault.problem : fault.problem + ", found " + fault.found;
}

}  // namespace

void Call::fail(const Problem& problem) {
    // Several arguments may fail; the first one has answered.
    if (!exchange.responded()) exchange.respond(problem.response());
}

void Call::fail_pairs(int status, std::string detail, const json::Faults& faults) {
    Problem problem{.status = status, .detail = std::move(detail)};
    for (const json::Fault& fault : faults) problem.faults.push_back({fault.path, sentence(fault)});
    fail(problem);
}

void Call::fail_parameter(std::string_view expected) {
    const std::size_t index = parameters_used - 1;
    Problem problem;
    problem.detail = "the path has a parameter that cannot be read";
    problem.faults.push_back({std::string(parameter_name(pattern, index)), std::string(expected)});
    fail(problem);
}

void Call::fail_json(const json::Error& error) {
    Problem problem;
    problem.status = status_of(error.kind());
    problem.detail = problem.status == 422 ? "the body is JSON, but not what is expected"
                                           : "the body cannot be read as JSON";
    for (const json::Fault& fault : error.faults()) {
        std::string text = sentence(fault);
        // Where there is no member to name, the place is all that leads to the fault.
        if (problem.status == 400) text += " (byte " + std::to_string(fault.offset) + ")";
        problem.faults.push_back({fault.path, std::move(text)});
    }
    fail(problem);
}

void Call::fail_state() {
    fail_missing("a handler takes a state that App::state() was not given");
}

// A fault of the program: the client gets 500, and the log says what is missing.
void Call::fail_missing(std::string_view what) {
    log::Logger* log = exchange.loop().log();
    if (log != nullptr) log->error("http", what, log::field("route", pattern));
    if (!exchange.responded()) exchange.respond_status(500);
}

namespace {

ByteView type_of_body(const Request& request) {
    const ByteView type = request.header(wire::FieldName::content_type);
    return wire::trim_ows(type.substr(0, type.find(';')));
}

}  // namespace

bool Call::body_is(std::string_view type) {
    if (wire::equals_ignoring_case(type_of_body(exchange.request()), type)) return true;
    fail({.status = 415, .detail = "send Content-Type: " + std::string(type)});
    return false;
}

bool Call::body_is_json() {
    const ByteView trimmed = type_of_body(exchange.request());
    constexpr ByteView tree = "application/";
    constexpr ByteView suffix = "+json";
    const bool is_suffixed =
        trimmed.size() > tree.size() + suffix.size() &&
        wire::equals_ignoring_case(trimmed.substr(0, tree.size()), tree) &&
        wire::equals_ignoring_case(trimmed.substr(trimmed.size() - suffix.size()), suffix);
    if (is_suffixed || wire::equals_ignoring_case(trimmed, "application/json")) return true;
    fail({.status = 415, .detail = "the body has to be JSON: send Content-Type: application/json"});
    return false;
}

}  // namespace tiderace::http::app_parts
