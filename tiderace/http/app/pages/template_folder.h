// TemplateFolder: the templates of an App. .html files are escaped by context, .txt files are not;
// other files are not templates.
//
//   start   -> every template compiled -> constant, read by all loops
//   reload  -> before each page the files are read again -> compiled where they differ
//
// Files are compared by reading them, not by notices of the kernel: a folder of a container or of
// another machine sends none.
//
// Owner    The App.
// Thread   open, check: one, before it serves. render: any.
// Errors   Texts of text::Fault::message(), with the folder before the file.
// Limits   text::Limits, text::templates_max.
// Keywords: template reload
#pragma once

#include <cstddef>
#include <expected>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>

#include "tiderace/base/units.h"
#include "tiderace/http/app/pages/page.h"
#include "tiderace/task/runner.h"
#include "tiderace/text/templates.h"

namespace tiderace::http::app_parts {

class TemplateFolder final {
  public:
    static std::expected<std::shared_ptr<TemplateFolder>, std::string> open(
        std::string folder, const TemplateOptions& options);

    // "": it fits. From then on a new version that does not is refused.
    std::string check(const PageUse& use);
    // Appends the page to `out`; otherwise why there is none.
    std::expected<void, std::string> render(std::string& out, std::string_view name,
                                            text::Ref value);
    bool shows_faults() const { return show_faults_; }

  private:
    class Folder;

    TemplateFolder(std::string folder, const TemplateOptions& options);
    std::string load_all();
    std::string refresh(std::string_view name);
    std::string describe(const text::Faults& faults) const;
    text::Templates& set_of(std::string_view name);

    const std::string folder_;
    const bool reload_;
    const bool show_faults_;
    std::unique_ptr<Folder> loader_;
    std::mutex lock_;  // with reload_ alone
    text::Templates html_;
    text::Templates plain_;
};

// One loop's view of the templates.
struct LoopPages {
    static constexpr std::size_t room_bytes_max = 64_KiB;

    explicit LoopPages(task::Runner&) {}
    TemplateFolder* pages = nullptr;
    // The buffer that pages are rendered into, one after the other.
    std::string room = {};
};

}  // namespace tiderace::http::app_parts
