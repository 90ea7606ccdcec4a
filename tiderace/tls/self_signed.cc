#include "tiderace/tls/self_signed.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <utility>

#include "tiderace/base/secret_text.h"
#include "tiderace/core/kernel.h"
#include "tiderace/core/whole_file.h"
#include "tiderace/net/lan_address.h"

namespace tiderace::tls {
namespace {

constexpr std::size_t file_bytes_max = 64 << 10;
constexpr mode_t private_folder = 0700;
constexpr mode_t private_file = 0600;

using core::Descriptor;

Descriptor held(int fd) {
    return {core::system_kernel(), fd};
}

std::string environment(const char* name) {
    // Before the loops start.
    const char* value = std::getenv(name);
    return value != nullptr ? value : "";
}

// The folder is ours alone, and locked until the handle is closed, so that two servers that start
// at once do not make two authorities.
Result<Descriptor> open_folder(const std::string& path, Duration lock_wait_max) {
    std::error_code fault;
    std::filesystem::create_directories(std::filesystem::path(path).parent_path(), fault);
    if (::mkdir(path.c_str(), private_folder) != 0 && errno != EEXIST) {
        return fail(Error::last("make", path, "set XDG_DATA_HOME to a folder that you may write"));
    }
    Descriptor folder = held(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    if (!folder) return fail(Error::last("open", path));
    struct stat facts{};
    if (::fstat(folder.get(), &facts) != 0) return fail(Error::last("look at", path));
    // In another user's folder the key could be read or replaced.
    if (facts.st_uid != ::geteuid()) {
        return fail(Error(EPERM, "keep keys in", path, "it belongs to another user"));
    }
    // It may be older than this program, and open to a group.
    if ((facts.st_mode & 0777) != private_folder && ::fchmod(folder.get(), private_folder) != 0) {
        return fail(Error::last("make private", path));
    }
    switch (net::lock_folder(folder.get(), lock_wait_max)) {
        case net::FolderLock::taken:
            return folder;
        case net::FolderLock::held_by_another:
            return fail(Error(EBUSY, "lock", path,
                              "another program keeps its lock; end it (lslocks lists it)"));
        case net::FolderLock::unavailable:
            break;
    }
    return fail(Error::last("lock", path));
}

// "" if there is none, or if it is not a plain file of ours that only we may read. O_NOFOLLOW: a
// link could point the server at another's key; O_NONBLOCK: a FIFO could hang it.
SecretText read(const Descriptor& folder, const char* name) {
    const Descriptor file =
        held(::openat(folder.get(), name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
    struct stat facts{};
    if (!file || ::fstat(file.get(), &facts) != 0 || !S_ISREG(facts.st_mode) ||
        facts.st_uid != ::geteuid() || (facts.st_mode & 0077) != 0 ||
        facts.st_size > static_cast<off_t>(file_bytes_max)) {
        return {};
    }
    SecretText text(static_cast<std::size_t>(facts.st_size), '\0');
    const ssize_t got = ::read(file.get(), text.data(), text.size());
    text.resize(got > 0 ? static_cast<std::size_t>(got) : 0);
    return text;
}

// On the disk before the rename: after a crash there is the old file or all of the new one.
bool write_all(int file, std::string_view text) {
    return core::write_whole(file, text) && ::fsync(file) == 0;
}

Result<> write(const Descriptor& folder, const std::string& path, const char* name,
               std::string_view text) {
    const std::string whole = path + "/" + name;
    const std::string beside = std::string(name) + ".new";
    ::unlinkat(folder.get(), beside.c_str(), 0);  // of a run that was cut off; we hold the lock
    const Descriptor file =
        held(::openat(folder.get(), beside.c_str(),
                      O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, private_file));
    if (!file || !write_all(file.get(), text) ||
        ::renameat(folder.get(), beside.c_str(), folder.get(), name) != 0) {
        return fail(Error::last("write", whole));
    }
    return {};
}

// Write the key first, so that a crash never leaves a certificate without one.
Result<> write_pair(const Descriptor& folder, const std::string& path, const std::string& stem,
                    const CertificateAndKey& pair) {
    if (auto done = write(folder, path, (stem + "-key.pem").c_str(), pair.key); !done) return done;
    return write(folder, path, (stem + ".pem").c_str(), pair.certificate);
}

CertificateAndKey read_pair(const Descriptor& folder, const std::string& stem) {
    return {std::string(read(folder, (stem + ".pem").c_str())),
            read(folder, (stem + "-key.pem").c_str())};
}

}  // namespace

Result<std::string> self_signed_folder() {
    const std::string data = environment("XDG_DATA_HOME");
    // the XDG specification ignores relative paths
    if (data.starts_with('/')) return data + "/tiderace";
    const std::string home = environment("HOME");
    if (home.starts_with('/')) return home + "/.local/share/tiderace";
    return fail(Error(0, "find", "a folder for the development certificate",
                      "set XDG_DATA_HOME or HOME, or give your own with --tls"));
}

Result<SelfSigned> self_signed(const std::string& folder, std::string_view host_name,
                               const std::vector<std::string>& addresses, UnixSeconds now,
                               Duration lock_wait_max) {
    auto opened = open_folder(folder, lock_wait_max);
    if (!opened) return fail(opened.error());
    SelfSigned made{.certificate_file = folder + "/localhost.pem",
                    .key_file = folder + "/localhost-key.pem",
                    .authority_file = folder + "/authority.pem",
                    .names = local_names(host_name, addresses)};

    CertificateAndKey authority = read_pair(*opened, "authority");
    // A new network or host name needs another authority, because the old one's constraint excludes
    // it.
    if (!authority_serves(authority, made.names, now)) {
        auto fresh = make_authority(made.names, now);
        if (!fresh) return fail(fresh.error());
        authority = std::move(*fresh);
        if (auto done = write_pair(*opened, folder, "authority", authority); !done) {
            return fail(done.error());
        }
        made.authority_is_new = true;
    }
    CertificateAndKey leaf = read_pair(*opened, "localhost");
    if (!leaf_serves(leaf, authority, made.names, now)) {
        auto fresh = make_leaf(authority, made.names, now);
        if (!fresh) return fail(fresh.error());
        leaf = std::move(*fresh);
        if (auto done = write_pair(*opened, folder, "localhost", leaf); !done) {
            return fail(done.error());
        }
        made.certificate_is_new = true;
    }
    made.fingerprint = fingerprint(leaf.certificate);
    made.authority_fingerprint = fingerprint(authority.certificate);
    made.ends = ends_at(leaf.certificate);
    made.authority_names = names_of_authority(authority.certificate);
    made.private_ranges = private_range_texts();
    made.authority_ends = ends_at(authority.certificate);
    return made;
}

Result<SelfSigned> self_signed() {
    auto folder = self_signed_folder();
    if (!folder) return fail(folder.error());
    const auto now = std::chrono::system_clock::now().time_since_epoch();
    return self_signed(*folder, net::host_name(), net::lan_addresses(net::interface_addresses()),
                       std::chrono::duration_cast<std::chrono::seconds>(now).count());
}

}  // namespace tiderace::tls
