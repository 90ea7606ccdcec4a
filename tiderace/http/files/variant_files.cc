#include "tiderace/http/files/variant_files.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <utility>
#include <vector>

#include "tiderace/core/whole_file.h"
#include "tiderace/http/coding/content_encoder.h"

namespace tiderace::http::files {
namespace {

constexpr ByteView magic = "tiderace variant 1\n";
constexpr std::size_t head_bytes_max = 256;
constexpr ByteView unfinished = ".new-";

// FNV-1a over the whole file: it detects damage, not forgery. An attacker cannot write here.
std::uint64_t digest_of(ByteView bytes) {
    std::uint64_t digest = 14'695'981'039'346'656'037U;
    for (const char c : bytes)
        digest = (digest ^ static_cast<unsigned char>(c)) * 1'099'511'628'211;
    return digest;
}

// Everything that a file's bytes depend on, as text.
std::string key_text(const VariantKey& key) {
    const FileIdentity& file = key.file;
    std::string text;
    for (const std::uint64_t number :
         {file.device, file.inode, file.bytes, static_cast<std::uint64_t>(file.modified),
          static_cast<std::uint64_t>(file.modified_ns), static_cast<std::uint64_t>(file.changed),
          static_cast<std::uint64_t>(file.changed_ns)}) {
        text.append(std::to_string(number)).append(" ");
    }
    return text.append(coding::recipe_of(key.coding)).append("\n");
}

// Written before the bytes and compared as a whole: a file of another recipe, of another version
// of its source or with damaged bytes has another head.
std::string head_of(const VariantKey& key, ByteView bytes) {
    return std::string(magic) + key_text(key) + std::to_string(bytes.size()) + " " +
           std::to_string(digest_of(bytes)) + "\n";
}

// Sixteen digits: no name in this folder depends on a name that a client or a site chose.
std::string name_of(const VariantKey& key) {
    char name[17];
    std::snprintf(name, sizeof name, "%016llx",
                  static_cast<unsigned long long>(digest_of(key_text(key))));
    return std::string(name) + "." + std::string(wire::coding_name(key.coding));
}

// No other user can have written it.
bool is_ours(const struct stat& status) {
    return status.st_uid == ::geteuid() && (status.st_mode & (S_IWGRP | S_IWOTH)) == 0;
}

struct Kept {
    std::string name;
    std::uint64_t bytes;
    std::int64_t when;
};

std::vector<Kept> list_files(int folder) {
    std::vector<Kept> files;
    // closedir() closes its descriptor, so it gets one of its own.
    const int copy = ::openat(folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR* directory = ::fdopendir(copy);  // also nullptr for -1
    if (directory == nullptr) {
        if (copy >= 0) ::close(copy);
        return files;
    }
    while (const dirent* entry = ::readdir(directory)) {
        struct stat status{};
        if (::fstatat(folder, entry->d_name, &status, AT_SYMLINK_NOFOLLOW) != 0) continue;
        if (!S_ISREG(status.st_mode)) continue;
        files.push_back({entry->d_name, static_cast<std::uint64_t>(status.st_size),
                         static_cast<std::int64_t>(status.st_mtime)});
    }
    ::closedir(directory);
    return files;
}

// Deletes only names that we made: the folder may hold other things.
bool is_our_name(ByteView name) {
    if (name.starts_with(unfinished)) return true;
    if (name.size() < 18 || name[16] != '.') return false;
    const ByteView coding = name.substr(17);
    return name.find_first_not_of("0123456789abcdef") == 16 &&
           (coding == "gzip" || coding == "br" || coding == "zstd");
}

}  // namespace

Result<std::unique_ptr<VariantFiles>> VariantFiles::open(const std::string& folder,
                                                         std::uint64_t bytes_max) {
    if (::mkdir(folder.c_str(), 0700) != 0 && errno != EEXIST) {
        return fail(Error::last("make compress cache", folder, "make the folder above it first"));
    }
    core::Descriptor opened(core::system_kernel(),
                            ::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    struct stat status{};
    if (!opened || ::fstat(opened.get(), &status) != 0) {
        return fail(Error::last("open compress cache", folder));
    }
    // Another user could put content of its choice into our answers.
    if (!is_ours(status)) {
        return fail(Error(EPERM, "use compress cache", folder,
                          "it must belong to the user that serves, and nobody else may write "
                          "there: chmod 700"));
    }
    std::unique_ptr<VariantFiles> files(new VariantFiles(std::move(opened), bytes_max));
    files->clean_up();
    return files;
}

std::optional<std::string> VariantFiles::read(const VariantKey& key,
                                              std::uint64_t bytes_max) const {
    const core::Descriptor file(core::system_kernel(),
                                ::openat(folder_.get(), name_of(key).c_str(),
                                         O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
    struct stat status{};
    if (!file || ::fstat(file.get(), &status) != 0) return std::nullopt;
    const auto size = static_cast<std::uint64_t>(status.st_size);
    // O_NONBLOCK above: opening a FIFO put here under that name would wait for a writer. Its size
    // bounds what is read into memory.
    if (!S_ISREG(status.st_mode) || !is_ours(status) || size > bytes_max + head_bytes_max) {
        return std::nullopt;
    }
    std::string text;
    // It may have been cut meanwhile.
    if (core::read_whole(file.get(), text, size) != 0 || text.size() < size) return std::nullopt;
    // Three lines, then the bytes. The head that belongs to these bytes must be exactly this one.
    std::size_t begin = 0;
    for (int lines = 0; lines < 3; ++lines) {
        const std::size_t end = text.find('\n', begin);
        if (end == std::string::npos) return std::nullopt;
        begin = end + 1;
    }
    const ByteView bytes = ByteView(text).substr(begin);
    if (ByteView(text).substr(0, begin) != head_of(key, bytes)) return std::nullopt;
    text.erase(0, begin);
    return text;
}

bool VariantFiles::write(const VariantKey& key, ByteView bytes) {
    const std::string head = head_of(key, bytes);
    // Under a name of its own until it is whole, so that no reader ever sees a part of it.
    const std::string name = std::string(unfinished) + std::to_string(::getpid()) + "-" +
                             std::to_string(written_.fetch_add(1));
    {
        const core::Descriptor file(
            core::system_kernel(),
            ::openat(folder_.get(), name.c_str(),
                     O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600));
        if (!file) return false;
        if (!core::write_whole(file.get(), head) || !core::write_whole(file.get(), bytes)) {
            ::unlinkat(folder_.get(), name.c_str(), 0);
            return false;
        }
    }
    // No fsync: a file that a crash has cut fails its digest, and is made anew.
    if (::renameat(folder_.get(), name.c_str(), folder_.get(), name_of(key).c_str()) != 0) {
        ::unlinkat(folder_.get(), name.c_str(), 0);
        return false;
    }
    bytes_ += head.size() + bytes.size();
    if (bytes_ > bytes_max_) clean_up();
    return true;
}

// Deletes down to nine tenths, so that it does not run for each file. It may delete a file that
// another process is writing; that process notices, and compresses again.
void VariantFiles::clean_up() {
    // One thread cleans; the others need not wait.
    const std::unique_lock alone(cleaning_, std::try_to_lock);
    if (!alone) return;
    std::vector<Kept> files = list_files(folder_.get());
    std::erase_if(files, [](const Kept& file) { return !is_our_name(file.name); });
    std::ranges::sort(files, {}, &Kept::when);
    std::uint64_t bytes = 0;
    for (const Kept& file : files) bytes += file.bytes;
    const std::uint64_t enough = bytes_max_ - bytes_max_ / 10;
    const bool too_many = bytes > bytes_max_;
    const std::string ours_now = std::string(unfinished) + std::to_string(::getpid()) + "-";
    for (const Kept& file : files) {
        // Left by a process that ended while it wrote.
        const bool is_left_over =
            file.name.starts_with(unfinished) && !file.name.starts_with(ours_now);
        if (!is_left_over && !(too_many && bytes > enough)) continue;
        if (::unlinkat(folder_.get(), file.name.c_str(), 0) == 0) bytes -= file.bytes;
    }
    bytes_ = bytes;
}

}  // namespace tiderace::http::files
