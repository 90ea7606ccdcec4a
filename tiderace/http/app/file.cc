#include "tiderace/http/app/file.h"

#include <cerrno>
#include <utility>

#include "tiderace/base/ascii.h"
#include "tiderace/http/files/cached_file.h"
#include "tiderace/http/files/file_answer.h"
#include "tiderace/http/files/file_cache.h"
#include "tiderace/http/files/root_directory.h"
#include "tiderace/http/wire/canonical_path.h"
#include "tiderace/http/wire/mime.h"

namespace tiderace::http {
namespace {

// The parts that the files of one loop share.
struct SentFiles {
    explicit SentFiles(task::Runner& runner) : disk(runner.loop(), runner.pool()) {}

    core::Ref<files::FileBudget> budget =
        core::make_ref<files::FileBudget>(files::FileBudgetLimits{});
    files::DiskReads disk;
};

void answer_without_folder(Exchange& exchange, int error) {
    // The folder may be one that only a request with a good name has (a member's), so its absence
    // is not a fault of the server's.
    if (error == ENOENT || error == ENOTDIR) return exchange.respond_status(404);
    if (error == EACCES || error == EPERM) return exchange.respond_status(403);
    files::answer_fault(exchange, error);
}

bool is_attribute_char(char c) {
    return is_letter_or_digit(c) || c == '-' || c == '.' || c == '_' || c == '~';
}

// RFC 6266: `filename` for all, without what some clients read as a path or an escape; `filename*`
// (RFC 8187) has the whole name where that lost something.
std::string attachment(std::string_view name) {
    std::string plain, exact;
    for (const char c : name) {
        const auto byte = static_cast<unsigned char>(c);
        const bool stays =
            byte >= 0x20 && byte < 0x7f && c != '"' && c != '\\' && c != '/' && c != '%';
        plain += stays ? c : '_';
        if (is_attribute_char(c)) {
            exact += c;
        } else {
            append_percent_escape(exact, c);
        }
    }
    std::string value = "attachment; filename=\"" + plain + '"';
    if (plain != name) value += "; filename*=UTF-8''" + exact;
    return value;
}

}  // namespace

File::File(std::string folder, std::string name, bool beneath)
    : folder_(std::move(folder)), name_(std::move(name)), beneath_(beneath) {
    // The system's calls would take the text up to the zero for the name.
    if (name_.find('\0') != std::string::npos) name_.clear();
}

File::File(std::string path)
    : File(path.substr(0, path.rfind('/') + 1), '/' + path.substr(path.rfind('/') + 1), false) {
    if (folder_.empty()) folder_ = ".";
}

File File::beneath(std::string folder, std::string_view name) {
    return File(std::move(folder), '/' + std::string(name), true);
}

File&& File::type(std::string type) && {
    type_ = std::move(type);
    return std::move(*this);
}

File&& File::with_hidden() && {
    with_hidden_ = true;
    return std::move(*this);
}

File&& File::download(std::string_view as) && {
    disposition_ = attachment(as);
    return std::move(*this);
}

File&& File::cache_control(std::string value) && {
    cache_control_ = std::move(value);
    return std::move(*this);
}

void File::answer(Exchange& exchange, task::Runner& runner) && {
    const bool is_hidden = beneath_ && !with_hidden_ && wire::has_hidden_segment(name_);
    if (name_.empty() || is_hidden) return exchange.respond_status(404);
    core::Kernel& kernel = exchange.loop().kernel();
    // Opened for each answer: the handler names the folder, so there may be as many as there are
    // users, and a descriptor for each would run out.
    const auto folder = files::RootDirectory::open(kernel, folder_);
    if (!folder) return answer_without_folder(exchange, folder.error().code());

    SentFiles& sent = runner.local<SentFiles>();
    sent.budget->set_asker(exchange.request().connection);
    const files::FileLoader loader(kernel, folder->descriptor(),
                                   // A name that came with a request must not leave the folder by a
                                   // link. A path of the program's own may: it is as trusted as the
                                   // program.
                                   beneath_ ? core::Links::inside : core::Links::anywhere,
                                   sent.budget.get());
    files::FileLoader::Opened opened = loader.open(name_);
    if (opened.found == files::Found::failed) return files::answer_fault(exchange, opened.error);
    if (opened.found == files::Found::refused) return exchange.respond_status(403);
    if (opened.found != files::Found::file) return exchange.respond_status(404);
    const wire::MimeTable types;
    files::answer_opened(exchange, loader, std::move(opened),
                         {.name = name_,
                          .content_type = type_.empty() ? types.type_of(name_) : ByteView(type_),
                          .cache_control = cache_control_,
                          .disposition = disposition_,
                          .sendfile_bytes_min = files::FileCacheLimits().sendfile_bytes_min,
                          .small_copy_bytes_max = files::small_copy_bytes_default},
                         sent.disk);
}

}  // namespace tiderace::http
