// TryPage: the page on which people try the routes of an OpenAPI document.
//
//   page -> fetch(the document) -> a form for each route -> fetch(the route) -> its answer as text
//
// All that it shows of documents and answers is set as text, never as markup. Its
// Content-Security-Policy lets nothing load but its own style and script, and nothing be requested
// but this origin.
//
// Thread   Any; constant.
// Keywords: Swagger UI, API explorer
#pragma once

#include <string>
#include <string_view>

#include "tiderace/http/response.h"

namespace tiderace::http::app_parts {

// "../openapi.json": what leads from one path to the other, below whatever prefix both are mounted.
std::string relative_path(std::string_view from, std::string_view to);

class TryPage {
  public:
    TryPage(std::string_view title, std::string_view page, std::string_view document);

    // With a nonce of its own.
    Response answer() const;

  private:
    std::string title_;     // escaped
    std::string document_;  // relative to the page, escaped
};

}  // namespace tiderace::http::app_parts
