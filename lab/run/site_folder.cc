#include "lab/run/site_folder.h"

#include <stdlib.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>
#include <utility>

#include "lab/crc32.h"

namespace tiderace::lab::run {
namespace {

namespace fs = std::filesystem;

// Lines that differ, so that nobody who compresses or compares has it too easy.
std::string text_of(std::uint64_t bytes) {
    std::string text;
    text.reserve(bytes + 128);
    for (std::uint64_t line = 1; text.size() < bytes; ++line) {
        text += "<p>" + std::to_string(line) +
                ": the race of the tide is fastest where the channel is narrow.</p>\n";
    }
    text.resize(bytes);
    if (!text.empty()) text.back() = '\n';
    return text;
}

}  // namespace

Result<SiteFolder> SiteFolder::make() {
    SiteFolder site;
    std::error_code none;
    std::string path = (fs::temp_directory_path(none) / "tiderace-lab-site-XXXXXX").string();
    if (::mkdtemp(path.data()) == nullptr) return fail(Error::last("make folder", path));
    site.path_ = path;
    // Servers that give up root must still be able to read it.
    ::chmod(path.c_str(), 0755);
    for (std::size_t i = 0; i < site_files.size(); ++i) {
        const std::string name = path + "/" + std::string(site_files[i].name);
        const std::string text = text_of(site_files[i].bytes);
        std::ofstream file(name, std::ios::binary);
        file << text;
        file.flush();
        if (!file) return fail(Error::last("write", name));
        ::chmod(name.c_str(), 0644);
        site.hashes_[i] = crc32(0, text);
    }
    return site;
}

SiteFolder::~SiteFolder() {
    std::error_code ignored;
    if (!path_.empty()) fs::remove_all(path_, ignored);
}

SiteFolder::SiteFolder(SiteFolder&& other) noexcept
    : path_(std::exchange(other.path_, {})), hashes_(other.hashes_) {}

}  // namespace tiderace::lab::run
