// DirectoryReader: the names in a directory, one at a time, in the file system's own order.
//
// "." and ".." are left out. Entries that are added or removed meanwhile may be missing.
//
// Owner    Owns the directory's descriptor.
// Thread   One at a time.
// Errors   next() ends; error() reports whether at the end (0) or at a fault.
// Memory   One buffer of buffer_bytes, whatever the directory's size.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>

#include "tiderace/base/bytes.h"
#include "tiderace/core/kernel.h"

namespace tiderace::http::listing {

class DirectoryReader {
  public:
    static constexpr std::size_t buffer_bytes = 32_KiB;

    enum class Kind : std::uint8_t { unknown, file, directory, link, other };
    struct Entry {
        const char* name = nullptr;  // ends with NUL; lives until the next call
        std::size_t name_bytes = 0;
        Kind kind = Kind::unknown;

        ByteView view() const { return {name, name_bytes}; }
    };

    DirectoryReader(core::Kernel& kernel, core::Descriptor directory);

    std::optional<Entry> next();
    int error() const { return error_; }  // an errno value
    int descriptor() const { return directory_.get(); }

  private:
    bool fill();

    core::Kernel* kernel_;
    core::Descriptor directory_;
    std::unique_ptr<char[]> buffer_;
    std::size_t at_ = 0;
    std::size_t filled_ = 0;
    int error_ = 0;
};

}  // namespace tiderace::http::listing
