#include "tiderace/http/app/openapi/openapi.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <memory>
#include <ranges>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tiderace/http/app/app_loop.h"
#include "tiderace/http/app/openapi/schema.h"
#include "tiderace/http/app/openapi/try_page.h"
#include "tiderace/http/app/ready_middleware.h"
#include "tiderace/http/route/pattern.h"
#include "tiderace/http/wire/status.h"

namespace tiderace::http {
namespace app_parts {

// The text of a document. One object makes one.
class OpenApiDocument final {
  public:
    explicit OpenApiDocument(const App& app);

    std::string write(const OpenApiInfo& info);

  private:
    struct Operation {
        std::string_view method;
        RouteShape shape;
        RouteNotes notes;                // of all scopes around it
        std::set<std::string> security;  // all of them are required
    };
    // Patterns that differ in the names of their parameters alone are one path.
    struct Path {
        std::string pattern;
        std::vector<Operation> operations;
    };

    static void add_notes(Operation& operation, const App& app, std::uint32_t scope);
    void write_schemes(json::Writer& out) const;
    void write_operation(json::Writer& out, const Path& path, const Operation& operation);
    void write_parameters(json::Writer& out, const Path& path, const RouteShape& shape);
    void write_body(json::Writer& out, const RouteItem& body);
    void write_answers(json::Writer& out, const Operation& operation);
    void write_schema(json::Writer& out, const RouteItem& item);

    std::map<std::string, Path> paths_;
    std::set<std::string> schemes_;
    SchemaBook schemas_;
};

namespace {

using json::Writer;
using Role = RouteItem::Role;

constexpr std::string_view problem_media = "application/problem+json";
constexpr std::string_view problem_reference = "#/components/responses/Problem";

// "/users/{}": the same for patterns that stand for the same paths. "": it has a rest.
std::string key_of(std::string_view pattern) {
    std::string key;
    for (route::Segments segments(pattern); !segments.done();) {
        const route::Segment segment = segments.next();
        // OpenAPI has no parameter that takes several segments, so such routes are left out.
        if (segment.kind == route::Segment::Kind::rest) return {};
        key += '/';
        key += segment.kind == route::Segment::Kind::literal ? segment.text : "{}";
    }
    return key.empty() ? "/" : key;
}

std::string_view method_key(wire::Method method) {
    switch (method) {
        case wire::Method::get:
            return "get";
        case wire::Method::post:
            return "post";
        case wire::Method::put:
            return "put";
        case wire::Method::patch:
            return "patch";
        case wire::Method::delete_:
            return "delete";
        case wire::Method::head:
            return "head";
        case wire::Method::options:
            return "options";
        default:
            return {};  // every other, which a document cannot name
    }
}

bool is_list(const json::Type& type) {
    return type.kind == json::Kind::list ||
           (type.kind == json::Kind::checked && is_list(*type.checked->value));
}
// As Query<T> reads it.
bool may_be_missing_in_query(const json::Type& type) {
    return may_be_missing(type) || is_list(type) || type.kind == json::Kind::boolean;
}

// The statuses of what cannot be read.
std::vector<int> refusals(const RouteShape& shape) {
    std::vector<int> all;
    for (const RouteItem& item : shape) {
        if (item.role == Role::query) all.push_back(400);
        if (item.role == Role::parameter && item.type != nullptr &&
            item.type->kind != json::Kind::text && item.type->kind != json::Kind::text_view) {
            all.push_back(400);
        }
        if (item.role != Role::body) continue;
        all.push_back(413);
        if (item.media == "application/octet-stream") continue;
        all.push_back(400);
        all.push_back(415);
        if (item.type != nullptr) all.push_back(422);
    }
    return all;
}

void write_problem_parts(Writer& out) {
    out.key("responses").begin_object().key("Problem").begin_object();
    out.key("description").value("What was wrong with the request (RFC 9457)");
    out.key("content").begin_object().key(problem_media).begin_object();
    out.key("schema").begin_object().key("type").value("object");
    out.key("properties").begin_object();
    for (const std::string_view name : {"title", "detail"}) {
        out.key(name).begin_object().key("type").value("string").end_object();
    }
    out.key("status").begin_object().key("type").value("integer").end_object();
    out.end_object().end_object();  // properties, schema
    out.end_object().end_object();  // media, content
    out.end_object().end_object();  // Problem, responses
}

class DocumentRule final : public AccessRule {
  public:
    DocumentRule(const App& app, OpenApiInfo info) : app_(&app), info_(std::move(info)) {}

    Verdict check(Exchange& exchange) override {
        if (!exchange.request().is_get_or_head()) return Verdict::pass;  // it will be a 405
        // At the first request, because routes may be added after openapi().
        if (text_.empty()) text_ = OpenApiDocument(*app_).write(info_);
        exchange.respond(Response().body("application/json", text_));
        return Verdict::answered;
    }

  private:
    const App* app_;
    OpenApiInfo info_;
    std::string text_;
};

}  // namespace

OpenApiDocument::OpenApiDocument(const App& app) {
    for (std::size_t i = 0; i < app.routes_.size(); ++i) {
        const Site::Endpoint& route = app.site().endpoints()[i];
        const std::string_view method = method_key(route.method);
        const std::string key = key_of(route.pattern);
        if (app.routes_[i] == nullptr || method.empty() || key.empty() || route.is_websocket ||
            app.site().scopes()[route.scope].host != 0) {
            continue;
        }
        Operation operation{.method = method, .shape = {}, .notes = {}, .security = {}};
        add_notes(operation, app, route.scope);
        if (operation.notes.hidden) continue;
        if (const auto describe = app.routes_[i]->kind().describe) describe(operation.shape);
        schemes_.insert(operation.security.begin(), operation.security.end());
        // The names of the first pattern are shown; parameters go by their order.
        Path& path = paths_.try_emplace(key, Path{route.pattern, {}}).first->second;
        path.operations.push_back(std::move(operation));
    }
}

// From the route outwards, so that the innermost text counts.
void OpenApiDocument::add_notes(Operation& operation, const App& app, std::uint32_t scope) {
    RouteNotes& all = operation.notes;
    const bool is_safe =
        operation.method == "get" || operation.method == "head" || operation.method == "options";
    const auto take = [](std::string& text, const std::string& other) {
        if (text.empty()) text = other;
    };
    for (; scope != Site::no_scope; scope = app.site().scopes()[scope].parent) {
        for (const Setting& setting : app.site().scopes()[scope].settings | std::views::reverse) {
            if (setting.notes == nullptr) continue;
            const RouteNotes& one = *setting.notes;
            take(all.summary, one.summary);
            take(all.description, one.description);
            take(all.operation_id, one.operation_id);
            all.tags.insert(all.tags.begin(), one.tags.begin(), one.tags.end());
            all.hidden |= one.hidden;
            std::ranges::copy(one.refusals, std::back_inserter(all.refusals));
            if (!is_safe) std::ranges::copy(one.unsafe_refusals, std::back_inserter(all.refusals));
            if (!one.security.empty()) operation.security.insert(one.security);
        }
    }
}

void OpenApiDocument::write_schemes(Writer& out) const {
    if (schemes_.empty()) return;
    out.key("securitySchemes").begin_object();
    for (const std::string& scheme : schemes_) {
        out.key(scheme).begin_object().key("type").value("http");
        out.key("scheme").value(scheme).end_object();
    }
    out.end_object();
}

std::string OpenApiDocument::write(const OpenApiInfo& info) {
    std::string text;
    Writer out(text);
    out.begin_object().key("openapi").value("3.1.0");
    out.key("info").begin_object().key("title").value(info.title);
    out.key("version").value(info.version);
    if (!info.description.empty()) out.key("description").value(info.description);
    out.end_object().key("paths").begin_object();
    for (const auto& [key, path] : paths_) {
        out.key(path.pattern).begin_object();
        for (const Operation& operation : path.operations) write_operation(out, path, operation);
        out.end_object();
    }
    out.end_object().key("components").begin_object().key("schemas");
    schemas_.write_all(out);
    write_schemes(out);
    write_problem_parts(out);
    out.end_object().end_object();
    out.flush();
    return text;
}

void OpenApiDocument::write_operation(Writer& out, const Path& path, const Operation& operation) {
    out.key(operation.method).begin_object();
    const RouteNotes& notes = operation.notes;
    if (!notes.summary.empty()) out.key("summary").value(notes.summary);
    if (!notes.description.empty()) out.key("description").value(notes.description);
    if (!notes.operation_id.empty()) out.key("operationId").value(notes.operation_id);
    if (!notes.tags.empty()) {
        out.key("tags").begin_array();
        for (const std::string& tag : notes.tags) out.value(tag);
        out.end_array();
    }
    if (!operation.security.empty()) {
        out.key("security").begin_array().begin_object();
        for (const std::string& scheme : operation.security) {
            out.key(scheme).begin_array().end_array();
        }
        out.end_object().end_array();
    }
    write_parameters(out, path, operation.shape);
    for (const RouteItem& item : operation.shape) {
        if (item.role == Role::body) write_body(out, item);
    }
    write_answers(out, operation);
    out.end_object();
}

void OpenApiDocument::write_parameters(Writer& out, const Path& path, const RouteShape& shape) {
    out.key("parameters").begin_array();
    route::Segments segments(path.pattern);
    for (const RouteItem& item : shape) {
        if (item.role != Role::parameter) continue;
        route::Segment segment = segments.next();
        while (segment.kind == route::Segment::Kind::literal) segment = segments.next();
        out.begin_object().key("name").value(segment.text).key("in").value("path");
        out.key("required").value(true).key("schema");
        write_schema(out, item);
        out.end_object();
    }
    for (const RouteItem& item : shape) {
        if (item.role != Role::query) continue;
        for (const json::Member& member : item.type->object->members) {
            out.begin_object().key("name").value(member.name).key("in").value("query");
            if (!may_be_missing_in_query(*member.type)) out.key("required").value(true);
            out.key("schema");
            schemas_.write(out, *member.type);
            out.end_object();
        }
    }
    out.end_array();
}

void OpenApiDocument::write_schema(Writer& out, const RouteItem& item) {
    if (item.type != nullptr) return schemas_.write(out, *item.type);
    out.begin_object();
    if (item.role == Role::parameter || item.media.starts_with("text/")) {
        out.key("type").value("string");
    } else if (item.media == "multipart/form-data") {
        out.key("type").value("object");
    }
    out.end_object();
}

void OpenApiDocument::write_body(Writer& out, const RouteItem& body) {
    out.key("requestBody").begin_object().key("required").value(true);
    out.key("content").begin_object().key(body.media).begin_object().key("schema");
    write_schema(out, body);
    out.end_object().end_object().end_object();
}

void OpenApiDocument::write_answers(Writer& out, const Operation& operation) {
    // By status, with each of its media types once; 0 is "default".
    std::map<int, std::vector<const RouteItem*>> answers;
    for (const RouteItem& item : operation.shape) {
        if (item.role != Role::answer) continue;
        auto& same = answers[item.status];
        const auto is_known = [&](const RouteItem* one) { return one->media == item.media; };
        if (std::ranges::none_of(same, is_known)) same.push_back(&item);
    }
    for (const int status : refusals(operation.shape)) answers.try_emplace(status);
    for (const int status : operation.notes.refusals) answers.try_emplace(status);
    out.key("responses").begin_object();
    for (const auto& [status, items] : answers) {
        out.key(status == 0 ? "default" : std::to_string(status)).begin_object();
        const bool is_problem = (items.empty() && (status == 0 || status >= 400)) ||
                                (items.size() == 1 && items[0]->media == problem_media);
        // All refusals are one component, so that a document with many routes stays readable.
        if (is_problem) {
            out.key("$ref").value(problem_reference).end_object();
            continue;
        }
        out.key("description").value(status == 0 ? "Another answer" : wire::reason_phrase(status));
        bool has_content = false;
        for (const RouteItem* item : items) {
            if (item->media.empty()) continue;
            if (!std::exchange(has_content, true)) out.key("content").begin_object();
            out.key(item->media).begin_object().key("schema");
            write_schema(out, *item);
            out.end_object();
        }
        if (has_content) out.end_object();
        out.end_object();
    }
    out.end_object();
}

}  // namespace app_parts

App& App::openapi(route::PlacedPattern path, OpenApiInfo info, std::vector<Middleware> middleware) {
    const std::uint32_t scope = add_scope(0, "");
    for (Middleware& one : middleware) site_->scope(scope).settings.push_back(std::move(one));
    Group<0> own({this, scope});
    own.use(describe({.hidden = true}));
    if (!info.page.empty()) {
        own.route(wire::Method::get, info.page,
                  [page = app_parts::TryPage(info.title, info.page, path.text)] {
                      return page.answer();
                  });
    }
    const auto make = [info = std::move(info)](LayerPlace& place) {
        // Not `this`: the App may have been moved, or mounted in another one, since this call.
        const App& app = place.states.get<AppLoop>().app();
        return Layer(std::make_shared<app_parts::DocumentRule>(app, info));
    };
    own.route(wire::Method::get, std::move(path), [] {}, Middleware(Middleware::Make(make)));
    return *this;
}

}  // namespace tiderace::http
