// ErrorPages: gives an answer of 400 and above that has no body one that helps: the operator's own
// file for that status, else a small built-in page, in HTML or JSON as the client asks (Accept). A
// refused request gets one as well; the built-in page then has the sentence of the refusal. One
// that was refused before its fields were read gets HTML. The built-in page names the path, and
// links to the front page.
//
// Owner    The program; one per loop.
// Thread   The loop's.
// Errors   load() fails when a file cannot be read.
// Limits   page_bytes_max for a file.
// Memory   The operator's files, the parts of built-in pages, about 2 KiB for each status, and the
//          last page that was built. A page that waits for its peer: under 4 KiB.
// Keywords: 404, 403, problem+json, RFC 9457
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "tiderace/base/result.h"
#include "tiderace/core/shared.h"
#include "tiderace/http/stages.h"

namespace tiderace::http::filter {

class ErrorPages final : public ResponseFilter {
  public:
    static constexpr std::size_t page_bytes_max = 1_MiB;
    static constexpr std::size_t path_shown_bytes_max = 200;
    static constexpr std::size_t copied_bytes_max = 16_KiB;  // larger: queued where it is

    enum class Others : std::uint8_t {
        are_built_in,
        are_left,  // to the filters that come after
    };

    ErrorPages() = default;
    // `files` by status: {404: "/srv/404.html"}. Read once, now.
    static Result<ErrorPages> load(const std::map<int, std::string>& files,
                                   Others others = Others::are_built_in);

    void filter(Exchange& exchange, Response& response) override;

  private:
    struct Page final : core::Shared {
        std::string bytes;
        std::string content_type;
    };
    struct HtmlParts {
        std::string before;  // up to the path
        std::string reason;  // behind it
    };
    struct BuiltPage final : core::Shared {
        std::string bytes;
        const HtmlParts* begins_with = nullptr;  // which `before` is at its front
    };
    static void show(const core::Ref<Page>& page, Response& response);
    void build_html_page(BuiltPage& built, int status, ByteView why, ByteView path);

    Others others_ = Others::are_built_in;
    std::map<int, core::Ref<Page>> pages_;
    std::map<int, HtmlParts> html_parts_;  // by status; made when first needed
    core::Ref<BuiltPage> built_;           // the last one
};

}  // namespace tiderace::http::filter
