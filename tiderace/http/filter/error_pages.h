// ErrorPages: gives an answer of 400 and above that has no body one that helps: the operator's own
// file for that status, else a small built-in page, in HTML or JSON as the client asks (Accept).
//
// Owner    The program; one per loop.
// Thread   The loop's.
// Errors   load() fails when a file cannot be read.
// Limits   page_bytes_max for a file.
// Memory   The operator's files, and the built-in pages that were asked for, under 2 KiB each.
#pragma once

#include <map>
#include <string>

#include "tiderace/base/result.h"
#include "tiderace/http/site.h"

namespace tiderace::http::filter {

class ErrorPages final : public ResponseFilter {
  public:
    static constexpr std::size_t page_bytes_max = 1_MiB;

    ErrorPages() = default;
    // `files` by status: {404: "/srv/404.html"}. Read once, now.
    static Result<ErrorPages> load(const std::map<int, std::string>& files);

    void filter(Exchange& exchange, Response& response) override;

  private:
    struct Page {
        std::string bytes;
        std::string content_type;
    };
    std::map<int, Page> pages_;
    std::map<int, std::string> built_in_html_;  // made when first asked for
    std::map<int, std::string> built_in_json_;
};

// The built-in texts, for those who answer without an exchange (a refused request head).
std::string error_page_html(int status);
std::string error_page_json(int status);

}  // namespace tiderace::http::filter
