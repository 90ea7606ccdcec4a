#include "tiderace/http/files/file_loader.h"

#include <fcntl.h>

#include <cerrno>
#include <cstring>
#include <new>
#include <utility>

#include "tiderace/base/check.h"

namespace tiderace::http::files {
namespace {

// How often we retry an interrupted call, or a look-up that raced with a rename.
constexpr int tries_max = 16;

// EAGAIN is openat2's answer when a rename on the way raced with its check of "..".
template <typename Call>
auto try_again(Call&& call) {
    auto result = call();
    for (int tries = 1; (result == -EINTR || result == -EAGAIN) && tries < tries_max; ++tries) {
        result = call();
    }
    return result;
}

Found found_of_error(int error) {
    switch (error) {
        case ENOENT:
        case ENOTDIR:
        case ENAMETOOLONG:
        case EINVAL:
        // For clients, a link that leaves the root, or that the policy forbids, does not exist: a
        // status of its own would reveal what is there.
        case EXDEV:
        case ELOOP:
            return Found::missing;
        case EACCES:
        case EPERM:
        case ENXIO:  // a socket, or a device without a driver
        case ENODEV:
            return Found::refused;
        default:
            return Found::failed;
    }
}

}  // namespace

bool FileLoader::is_unchanged(const CachedFile& file) const {
    return has_identity(file.descriptor(), file.identity());
}

bool FileLoader::has_identity(int fd, const FileIdentity& identity) const {
    struct stat now;
    return status(fd, now) >= 0 && FileIdentity(now) == identity;
}

bool FileLoader::read_exactly(int fd, std::span<char> to, std::uint64_t offset) const {
    while (!to.empty()) {
        const ssize_t got = try_again(
            [&] { return kernel_->read_at(fd, to.data(), to.size(), static_cast<off_t>(offset)); });
        if (got <= 0) return false;
        to = to.subspan(static_cast<std::size_t>(got));
        offset += static_cast<std::uint64_t>(got);
    }
    return true;
}

int FileLoader::status(int fd, struct stat& status) const {
    return try_again([&] { return kernel_->file_status(fd, &status); });
}

FileLoader::Opened FileLoader::open(ByteView path, ByteView suffix) const {
    TR_CHECK(path.starts_with('/'), "not a canonical path");
    path.remove_prefix(1);
    Opened opened;
    char name[path_bytes_max];
    // Longer than the system accepts, so it cannot exist: `missing`.
    if (path.size() + suffix.size() >= sizeof name) return opened;
    std::memcpy(name, path.data(), path.size());
    // An empty view may have no address at all.
    if (!suffix.empty()) std::memcpy(name + path.size(), suffix.data(), suffix.size());
    name[path.size() + suffix.size()] = '\0';
    // "/" is the root directory itself.
    if (name[0] == '\0') std::memcpy(name, ".", 2);

    // One call checks that no name and no link leaves the root, and opens (core/beneath_walk.h does
    // it where the kernel cannot). A check before it could be outrun by a rename.
    const int fd = try_again([&] { return kernel_->open_beneath(root_, name, O_RDONLY, links_); });
    if (fd < 0) {
        opened.found = found_of_error(-fd);
        opened.error = -fd;
        return opened;
    }
    opened.descriptor = core::Descriptor(*kernel_, fd);
    struct stat now{};
    if (const int fault = status(fd, now); fault < 0) {
        opened.found = Found::failed;
        opened.error = -fault;
        return opened;
    }
    opened.identity = FileIdentity(now);
    opened.found = S_ISREG(now.st_mode)   ? Found::file
                   : S_ISDIR(now.st_mode) ? Found::directory
                                          : Found::refused;
    return opened;
}

ssize_t FileLoader::read_now(int fd, char* to, std::size_t bytes, std::size_t offset) const {
    const auto at = static_cast<off_t>(offset);
    ssize_t got = -EINTR;
    for (int tries = 0; got == -EINTR && tries < tries_max; ++tries) {
        got = kernel_->read_now(fd, to, bytes, at);
    }
    // No such call on this system: the loop reads, and may wait for the disk.
    if (got != -EOPNOTSUPP) return got;
    return try_again([&] { return kernel_->read_at(fd, to, bytes, at); });
}

FileLoader::Bytes FileLoader::read_all(int fd, const FileIdentity& identity, Disk disk) const {
    const auto size = static_cast<std::size_t>(identity.bytes);
    // Without memory the file is sent from its descriptor.
    std::unique_ptr<char[]> bytes(new (std::nothrow) char[size > 0 ? size : 1]);
    if (bytes == nullptr) return {nullptr, ENOMEM};
    for (std::size_t done = 0; done < size;) {
        const std::span<char> rest(bytes.get() + done, size - done);
        const ssize_t got = disk == Disk::waited_for ? try_again([&] {
            return kernel_->read_at(fd, rest.data(), rest.size(), static_cast<off_t>(done));
        })
                                                     : read_now(fd, rest.data(), rest.size(), done);
        if (got == -EAGAIN) return {.cold = true};
        if (got < 0) return {nullptr, static_cast<int>(-got)};
        if (got == 0) return {};  // it became shorter
        done += static_cast<std::size_t>(got);
    }
    // A write during the read would leave a mix of old and new bytes under one tag.
    struct stat after{};
    if (const int fault = status(fd, after); fault < 0) return {nullptr, -fault};
    if (FileIdentity(after) != identity) return {};
    return {std::move(bytes), 0};
}

std::optional<FileBudget::Place> FileLoader::place_in_memory(std::uint64_t bytes) const {
    return room_ != nullptr ? room_->place_in_memory(bytes) : FileBudget::Place();
}

FileLoader::Loaded FileLoader::by_descriptor(const FileIdentity& identity,
                                             core::Descriptor descriptor,
                                             FileBudget::Place&& place) {
    return {core::make_ref<CachedFile>(identity, std::move(descriptor), std::move(place))};
}

FileLoader::Loaded FileLoader::load(Opened&& opened, bool into_memory) const {
    TR_CHECK(opened.found == Found::file);
    const int fd = opened.descriptor.get();
    bool changing = false;
    if (auto place = into_memory ? place_in_memory(opened.identity.bytes) : std::nullopt) {
        Bytes read = read_all(fd, opened.identity, Disk::not_waited_for);
        if (read.bytes != nullptr) {
            return {core::make_ref<CachedFile>(opened.identity, std::move(read.bytes),
                                               std::move(*place))};
        }
        if (read.error != 0 && read.error != ENOMEM) return {{}, read.error};
        // Neither an error nor cold: it changed while it was read.
        changing = read.error == 0 && !read.cold;
    }
    auto place = room_ != nullptr ? room_->place_for_descriptor() : FileBudget::Place();
    if (!place) return load_without_descriptor(opened, into_memory);
    if (!changing) {
        return by_descriptor(opened.identity, std::move(opened.descriptor), std::move(*place));
    }
    // Another program is writing it. Its present length is sent from the file itself; should it
    // become shorter meanwhile, the transport breaks off.
    struct stat now{};
    if (const int fault = status(fd, now); fault < 0) return {{}, -fault};
    Loaded loaded =
        by_descriptor(FileIdentity(now), std::move(opened.descriptor), std::move(*place));
    loaded.stable = false;
    return loaded;
}

// No descriptor may be kept: a file that is not too large is served once, from memory. A small file
// is read even if the loop has to wait for the disk.
FileLoader::Loaded FileLoader::load_without_descriptor(const Opened& opened, bool small) const {
    const std::uint64_t bytes = opened.identity.bytes;
    if (!small && bytes > without_descriptor_bytes_max) return {{}, EMFILE};
    const auto take_place = [&] {
        auto place = room_->place_in_memory(bytes);
        // A small file is always worth an answer, so there is a reserve for it.
        return place || !small ? std::move(place) : room_->place_to_spare(bytes);
    };
    auto place = take_place();
    if (!place) return {{}, EMFILE};
    Bytes read = read_all(opened.descriptor.get(), opened.identity,
                          small ? Disk::waited_for : Disk::not_waited_for);
    if (read.bytes == nullptr) return {{}, read.error != 0 ? read.error : EAGAIN};
    Loaded loaded{
        core::make_ref<CachedFile>(opened.identity, std::move(read.bytes), std::move(*place))};
    loaded.stable = false;
    return loaded;
}

FileLoader::IntoMemory FileLoader::into_memory(const CachedFile& file) const {
    auto place = place_in_memory(file.size());
    if (!place) return {{}, true};
    Bytes read = read_all(file.descriptor(), file.identity(), Disk::not_waited_for);
    if (read.bytes == nullptr) return {{}, read.cold || read.error == ENOMEM};
    return {core::make_ref<CachedFile>(file.identity(), std::move(read.bytes), std::move(*place)),
            false};
}

}  // namespace tiderace::http::files
