#include "tiderace/http/app/pages/template_folder.h"

#include <fcntl.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <optional>
#include <utility>
#include <vector>

#include "tiderace/core/whole_file.h"

namespace tiderace::http::app_parts {
namespace {

bool is_template(std::string_view name) {
    return name.ends_with(".html") || name.ends_with(".txt");
}

// A name may come from a client: it names nothing outside of the folder.
bool stays_inside(std::string_view name) {
    const std::filesystem::path path(name);
    return path.is_relative() && name.find('\0') == std::string_view::npos &&
           std::ranges::none_of(path, [](const auto& part) { return part == ".."; });
}

text::Options set_options(text::Mode mode, text::Loader& loader, const TemplateOptions& given) {
    text::Options options;
    options.mode = mode;
    options.loader = &loader;
    options.filters = given.filters;
    return options;
}

}  // namespace

class TemplateFolder::Folder final : public text::Loader {
  public:
    explicit Folder(std::string path) : path_(std::move(path)) {}

    std::optional<std::string> load(std::string_view name) override {
        if (!is_template(name) || !stays_inside(name)) return std::nullopt;
        const std::string path = path_ / name;
        std::error_code fault;
        if (!std::filesystem::is_regular_file(path, fault)) return std::nullopt;
        const core::Descriptor file(core::system_kernel(),
                                    ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
        std::string text;
        // More than the limit is refused when it is parsed.
        const int code = core::read_whole(file.get(), text, text::Limits().source_bytes_max);
        if (code != 0 && code != EFBIG) return std::nullopt;
        return text;
    }

    // All templates, in order; or the system's fault.
    std::expected<std::vector<std::string>, std::string> names() const {
        namespace fs = std::filesystem;
        std::vector<std::string> found;
        std::error_code fault;
        for (fs::recursive_directory_iterator at(path_, fault), end; !fault && at != end;
             at.increment(fault)) {
            const std::string name = at->path().filename();
            if (name.starts_with('.')) {  // an editor's, or a tool's folder
                at.disable_recursion_pending();
            } else if (is_template(name) && at->is_regular_file(fault)) {
                found.push_back(at->path().lexically_relative(path_));
            }
        }
        if (fault) return std::unexpected(path_.string() + ": " + fault.message());
        // So that every start names the same one of several broken templates first.
        std::ranges::sort(found);
        return found;
    }

  private:
    std::filesystem::path path_;
};

TemplateFolder::TemplateFolder(std::string folder, const TemplateOptions& options)
    : folder_(std::move(folder)),
      reload_(options.reload),
      show_faults_(options.show_faults),
      loader_(std::make_unique<Folder>(folder_)),
      html_(set_options(text::Mode::html, *loader_, options)),
      plain_(set_options(text::Mode::plain, *loader_, options)) {}

std::expected<std::shared_ptr<TemplateFolder>, std::string> TemplateFolder::open(
    std::string folder, const TemplateOptions& options) {
    std::shared_ptr<TemplateFolder> made(new TemplateFolder(std::move(folder), options));
    if (std::string fault = made->load_all(); !fault.empty()) return std::unexpected(fault);
    return made;
}

std::string TemplateFolder::load_all() {
    const auto names = loader_->names();
    if (!names) return names.error();
    std::string faults;
    for (const std::string& name : *names) {
        const auto loaded = set_of(name).load(name);
        if (loaded) continue;
        for (const text::Fault& fault : loaded.error()) {
            const std::string found = describe({fault});
            // A fault of a layout comes with each template that extends it, too.
            if (faults.find(found) != std::string::npos) continue;
            if (!faults.empty()) faults += '\n';
            faults += found;
        }
    }
    return faults;
}

text::Templates& TemplateFolder::set_of(std::string_view name) {
    return name.ends_with(".txt") ? plain_ : html_;
}

std::string TemplateFolder::describe(const text::Faults& faults) const {
    std::string text;
    for (text::Fault fault : faults) {
        if (!text.empty()) text += "\n";
        fault.file = folder_ + "/" + fault.file;
        text += fault.message();
    }
    return text;
}

std::string TemplateFolder::check(const PageUse& use) {
    if (use.type == nullptr) return "";
    const auto fits = set_of(use.name).check(use.name, *use.type);
    return fits ? "" : describe({fits.error()});
}

// Reads changed files. Faults are returned only where they are shown: otherwise the last good
// versions serve.
std::string TemplateFolder::refresh(std::string_view name) {
    std::string faults;
    for (text::Templates* set : {&html_, &plain_}) {
        if (const auto done = set->reload(); !done) faults += describe(done.error());
    }
    text::Templates& set = set_of(name);
    if (!set.has(name)) {  // a new file
        if (const auto loaded = set.load(name); !loaded) faults += describe(loaded.error());
    }
    return show_faults_ ? faults : "";
}

std::expected<void, std::string> TemplateFolder::render(std::string& out, std::string_view name,
                                                        text::Ref value) {
    std::unique_lock<std::mutex> held;
    // Only where files are read again does rendering change the set; otherwise loops share it
    // freely.
    if (reload_) {
        held = std::unique_lock(lock_);
        if (std::string faults = refresh(name); !faults.empty()) return std::unexpected(faults);
    }
    if (const auto done = set_of(name).render(out, name, value); !done) {
        return std::unexpected(describe({done.error()}));
    }
    return {};
}

}  // namespace tiderace::http::app_parts
