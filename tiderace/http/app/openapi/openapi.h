// Internal. App::openapi: an OpenAPI 3.1 document of an App's routes, made of their patterns and
// the types that their handlers take and return.
//
//   app.openapi("/openapi.json", {.title = "Harbour", .version = "1.2"});
//
//   parameters of the path       with their types; for Query<T> one for each member
//   Json<T>, Form<T>, Multipart  requestBody; structs under components/schemas, by name
//   results                      each status that the result's type implies, with its schema
//   what cannot be read          400, 413, 415, 422 as application/problem+json (RFC 9457)
//
// Left out: routes of App::host, with a "{rest...}" (OpenAPI has no parameter of several segments),
// for any method, and WebSockets. A reader of the document sees all other routes: give the
// route middleware where that matters. Ranges and lengths are in descriptions.
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
};

}  // namespace tiderace::http
