// Internal. App::openapi: an OpenAPI 3.1 document of an App's routes, made of their patterns and
// the types that their handlers take and return.
//
//   app.openapi("/openapi.json", {.title = "Harbour", .version = "1.2", .page = "/docs"});
//   app.get<"/boats">(list, describe({.summary = "All boats", .tags = {"boats"}}));
//
//   parameters of the path       with their types; for Query<T> one for each member
//   Json<T>, Form<T>, Multipart  requestBody; structs under components/schemas, by name
//   results                      each status that the result's type implies, with its schema
//   what cannot be read          400, 413, 415, 422 as application/problem+json (RFC 9457)
//   middleware before a route    its statuses (401, 403, 429 …) and the security scheme it requires
//   describe(RouteNotes)         summary, description, tags, operation id, hidden routes
//
// `page`: a page of our own on which people try the routes. It requests nothing but the document
// and the routes of this App, and its Content-Security-Policy holds it to that.
//
// Left out: routes of App::host, with a "{rest...}" (OpenAPI has no parameter of several segments),
// for any method, and WebSockets. A reader of the document sees all other routes: openapi() takes
// middleware for document and page where that matters. Ranges and lengths are in descriptions.
//
// Owner    The App; each loop makes the text at the first request and keeps it.
// Thread   The loop's.
// Keywords: OpenAPI, Swagger
#pragma once

#include <string>

#include "tiderace/base/language.h"

namespace tiderace::http {

struct OpenApiInfo {
    std::string title = "An application";
    std::string version = "1";
    std::string description = "";  // "": none
    std::string page = "";         // where people try the routes: "/docs"; "": nowhere
};

}  // namespace tiderace::http
