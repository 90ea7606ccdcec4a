// Internal. FileLoader: from a canonical path to an open file, and from an open file to a
// CachedFile.
//
// The one place where this room opens anything: always beneath the root, never blocking on a file
// that is not regular (O_NONBLOCK), and always through core::Kernel.
//
// Thread   Any, for open(); CachedFiles are the loop's.
// Errors   Found reports the kind; `failed` carries the errno value of a fault of the machine.
// Limits   Paths up to path_bytes_max; a longer one is missing. What it makes takes its place in
//          the loop's room (file_budget.h).
// Keywords: symlinks, path traversal, openat2
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "tiderace/base/bytes.h"
#include "tiderace/core/kernel.h"
#include "tiderace/http/files/cached_file.h"

namespace tiderace::http::files {

enum class Found : std::uint8_t {
    file,
    directory,
    missing,  // absent, or behind a link that leaves the root or that the policy forbids
    refused,  // not readable for us, or neither file nor directory
    failed,   // the machine could not find out (descriptors, memory, disk)
};

class FileLoader {
  public:
    static constexpr std::size_t path_bytes_max = 4096;
    static constexpr std::uint64_t without_descriptor_bytes_max = 1_MiB;

    struct Opened {
        Found found = Found::missing;
        int error = 0;  // with `failed`: an errno value
        core::Descriptor descriptor;
        FileIdentity identity;
    };

    // `root` is a directory's descriptor; it is borrowed. So is `room`; none: without bound.
    FileLoader(core::Kernel& kernel, int root, core::Links links = core::Links::inside,
               FileBudget* room = nullptr)
        : kernel_(&kernel), root_(root), links_(links), room_(room) {}

    // The same for what lies beneath `directory`, a folder under this root: links never leave it.
    FileLoader beneath(int directory) const {
        const core::Links links =
            links_ == core::Links::never ? core::Links::never : core::Links::inside;
        return FileLoader(*kernel_, directory, links, room_);
    }

    // `path` begins with '/'. `suffix` is put behind it (".gz", "index.html").
    Opened open(ByteView path, ByteView suffix = {}) const;

    struct Loaded {
        core::Ref<CachedFile> file;  // none: `error` has the cause
        int error = 0;
        // False: the file changed while it was read. It can be sent now, and must not be kept.
        bool stable = true;
    };
    // Loads an `opened` with Found::file. Never waits for the disk if the system can tell: a file
    // that it would have to wait for stays with its descriptor, and so does one without room in
    // memory. If no descriptor may be kept, the file is read all the same if memory has room, and
    // is not `stable`; otherwise EMFILE. With `into_memory` the loop waits for the disk then, and a
    // place is granted once for each connection.
    Loaded load(Opened&& opened, bool into_memory) const;
    struct IntoMemory {
        core::Ref<CachedFile> file;  // none: it changed, or
        bool not_now = false;        // the loop would wait for the disk, or there is no room
    };
    // A file that is cached by its descriptor, with its bytes.
    IntoMemory into_memory(const CachedFile& file) const;

    // Whether the open file of `file`, which is not in memory, is still unchanged.
    bool is_unchanged(const CachedFile& file) const;

    // For a thread that may wait: fills `to` from `offset` on. False: it is shorter, or faulty.
    bool read_exactly(int fd, std::span<char> to, std::uint64_t offset) const;
    bool has_identity(int fd, const FileIdentity& identity) const;

    // A place in memory for a variant of a file, counted as the loop's own files are.
    std::optional<FileBudget::Place> place_in_memory(std::uint64_t bytes) const;

    core::Kernel& kernel() const { return *kernel_; }
    int root() const { return root_; }

  private:
    // The bytes of exactly this state of the file; nullptr and error == 0: it is another by now, or
    // it is cold.
    struct Bytes {
        std::unique_ptr<char[]> bytes;
        int error = 0;
        bool cold = false;
    };
    enum class Disk : std::uint8_t { waited_for, not_waited_for };
    Bytes read_all(int fd, const FileIdentity& identity, Disk disk) const;
    ssize_t read_now(int fd, char* to, std::size_t bytes, std::size_t offset) const;
    int status(int fd, struct stat& status) const;
    static Loaded by_descriptor(const FileIdentity& identity, core::Descriptor descriptor,
                                FileBudget::Place&& place);
    Loaded load_without_descriptor(const Opened& opened, bool small) const;

    core::Kernel* kernel_;
    int root_;
    core::Links links_;
    FileBudget* room_;
};

}  // namespace tiderace::http::files
