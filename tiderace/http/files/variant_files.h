// Internal. VariantFiles: compressed files kept in a folder over a restart (--compress-cache).
//
//   NAME.gzip = head (key, recipe, length, digest) + bytes      0600, put there by a rename
//
// A file is trusted only if it is ours alone (owner, mode, no link), its head names exactly the
// requested file and recipe, and its digest is right. Any other file counts as absent, and is
// written anew.
//
// Owner    VariantStore.
// Thread   Any, the folder's clean-up one at a time.
// Errors   open() fails when the folder cannot be made, or is open to others. A disk that is full
//          or faulty costs a compression, never an answer.
// Limits   bytes_max for all files in the folder, the oldest go first.
#pragma once

#include <atomic>
#include <compare>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "tiderace/base/result.h"
#include "tiderace/core/kernel.h"
#include "tiderace/http/files/cached_file.h"
#include "tiderace/http/wire/accept.h"

namespace tiderace::http::files {

// One state of one file in one coding.
struct VariantKey {
    FileIdentity file;
    wire::ContentCoding coding = wire::ContentCoding::gzip;

    auto operator<=>(const VariantKey&) const = default;
};

class VariantFiles {
  public:
    static Result<std::unique_ptr<VariantFiles>> open(const std::string& folder,
                                                      std::uint64_t bytes_max);

    // At most `bytes_max` bytes; nullopt: there is no file that can be trusted.
    std::optional<std::string> read(const VariantKey& key, std::uint64_t bytes_max) const;
    // False: it could not be written.
    bool write(const VariantKey& key, ByteView bytes);

    std::uint64_t bytes() const { return bytes_; }

  private:
    VariantFiles(core::Descriptor folder, std::uint64_t bytes_max)
        : folder_(std::move(folder)), bytes_max_(bytes_max) {}
    void clean_up();

    core::Descriptor folder_;
    const std::uint64_t bytes_max_;
    std::mutex cleaning_;
    std::atomic<std::uint64_t> bytes_ = 0;  // about: rewritten ones count twice until a clean-up
    std::atomic<std::uint32_t> written_ = 0;
};

}  // namespace tiderace::http::files
