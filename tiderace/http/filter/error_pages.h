// ErrorPages: gives an answer of 400 and above that has no body one that helps: the operator's own
// file for that status, else a small built-in page, in HTML or JSON as the client asks (Accept). So
// too for a request that was refused, in the place of its sentence, which the built-in page says;
// one that was refused before its fields were read asked for nothing, and has HTML. The built-in
// page names the path, and leads to the front page from every other.
//
// Owner    The program; one per loop.
// Thread   The loop's.
// Errors   load() fails when a file cannot be read.
// Limits   page_bytes_max for a file.
// Memory   The operator's files, and the beginnings of built-in pages, under 2 KiB for each status.
#pragma once

#include <map>
#include <string>

#include "tiderace/base/result.h"
#include "tiderace/core/shared.h"
#include "tiderace/http/site.h"

namespace tiderace::http::filter {

class ErrorPages final : public ResponseFilter {
  public:
    static constexpr std::size_t page_bytes_max = 1_MiB;
    static constexpr std::size_t path_shown_bytes_max = 200;
    static constexpr std::size_t copied_bytes_max = 16_KiB;  // larger: queued where it is

    ErrorPages() = default;
    // `files` by status: {404: "/srv/404.html"}. Read once, now.
    static Result<ErrorPages> load(const std::map<int, std::string>& files);

    void filter(Exchange& exchange, Response& response) override;

  private:
    struct Page final : core::Shared {
        std::string bytes;
        std::string content_type;
    };
    static void show(const core::Ref<Page>& page, Response& response);

    std::map<int, core::Ref<Page>> pages_;
    std::map<int, std::string> html_before_;  // up to the path; made when first needed
};

}  // namespace tiderace::http::filter
