#include "lab/run/site_folder.h"

#include <sys/stat.h>

#include <utility>

#include "load/crc32.h"

namespace tiderace::lab::run {
namespace {

// Different lines, so that the text does not compress unrealistically well.
std::string text_of(std::uint64_t bytes) {
    std::string text;
    text.reserve(bytes + 128);
    for (std::uint64_t line = 1; text.size() < bytes; ++line) {
        text += "<p>" + std::to_string(line) +
                ": the race of the tide is fastest where the channel is narrow.</p>\n";
    }
    // To the byte: published comparisons have these sizes, and answers are checked by them.
    text.resize(bytes);
    if (!text.empty()) text.back() = '\n';
    return text;
}

}  // namespace

Result<SiteFolder> SiteFolder::make() {
    auto folder = TemporaryFolder::make("tiderace-lab-site");
    if (!folder) return fail(folder.error());
    SiteFolder site(std::move(*folder));
    // Servers that give up root must still be able to read it.
    ::chmod(site.path().c_str(), 0755);
    for (std::size_t i = 0; i < site_files.size(); ++i) {
        const std::string name(site_files[i].name);
        const std::string text = text_of(site_files[i].bytes);
        if (auto written = site.folder_.write(name, text); !written) return fail(written.error());
        ::chmod((site.path() + '/' + name).c_str(), 0644);
        site.hashes_[i] = load::crc32(0, text);
    }
    return site;
}

}  // namespace tiderace::lab::run
