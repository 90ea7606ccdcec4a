#include "tiderace/http/app/pages/error_page.h"

#include "tiderace/core/contain.h"
#include "tiderace/http/wire/accept.h"
#include "tiderace/http/wire/field_syntax.h"
#include "tiderace/http/wire/status.h"
#include "tiderace/json.h"

namespace tiderace::http::app_parts {
namespace {

constexpr std::string_view problem_type = "application/problem+json";

// A Problem as its answer has it.
struct WrittenFault {
    json::Default<std::string> name;
    std::string detail;
};
struct WrittenProblem {
    json::Default<std::string> title;
    json::Default<std::string> detail;
    json::Default<std::vector<WrittenFault>> errors;
};

bool is_problem(const Response& response) {
    const auto type = response.find(wire::FieldName::content_type);
    return type && type->value == problem_type && !response.copied_body().empty();
}

// Not where it takes both alike: a program that accepts "*/*" reads the Problem.
bool prefers_html(ByteView accept) {
    return wire::quality_of(accept, "text/html") > wire::quality_of(accept, "application/json");
}

bool wants_page(const Response& response, ByteView accept) {
    if (response.status() < 400) return false;
    // Other bodies are a handler's own text, which stays.
    if (!response.has_body() || !response.explanation().empty()) return true;
    return is_problem(response) && prefers_html(accept);
}

ErrorAnswer describe(const Request& request, const Response& response) {
    ErrorAnswer error{.status = response.status(),
                      .title = std::string(wire::reason_phrase(response.status())),
                      .detail = std::string(response.explanation()),
                      .faults = {},
                      .request = request};
    if (!is_problem(response)) return error;
    auto read =
        json::read<WrittenProblem>(response.copied_body(), {.unknown = json::Unknown::ignore});
    if (!read) return error;  // a handler's own text
    if (!read->title->empty()) error.title = *read->title;
    error.detail = *read->detail;
    for (WrittenFault& fault : *read->errors) {
        error.faults.push_back({std::move(*fault.name), std::move(fault.detail)});
    }
    return error;
}

// Gives an answer of 400 and above a page, where the page shows it; otherwise the answer stays.
class ErrorPageFilter final : public ResponseFilter {
  public:
    ErrorPageFilter(ErrorPage page, task::Runner& runner)
        : page_(std::move(page)), runner_(&runner) {}

    void filter(Exchange& exchange, Response& response) override {
        const ByteView accept = exchange.request().header(wire::FieldName::accept);
        if (!wants_page(response, accept)) return;
        const ErrorAnswer error = describe(exchange.request(), response);
        std::optional<Response> made;
        // A program gets JSON, whatever pages the App has: HTML would be of no use to it.
        if (wire::prefers_json(accept)) {
            made = Problem{.status = error.status, .detail = error.detail}.response();
        } else {
            // One that throws leaves the answer to the next page, or to the plain answer.
            core::contain(exchange.loop().log(), "http", "an error page",
                          [&] { made = page_(error, *runner_); });
        }
        if (!made) return;
        response.take_content(std::move(*made));
        // The explanation is in the page now; no other page must be made on top of it.
        response.explain({});
        response.add(wire::FieldName::vary, "Accept");
    }

  private:
    ErrorPage page_;
    task::Runner* runner_;
};

}  // namespace

Setting::Make shown_by(ErrorPage page) {
    return [page = std::move(page)](LayerPlace& place) {
        return Layer(std::make_shared<ErrorPageFilter>(page, place.runner));
    };
}

}  // namespace tiderace::http::app_parts
