// DirectoryRecords: the entries of a directory in the layout of Linux's getdents64, which
// Kernel::read_directory uses on every system.
//
//   inode 8 bytes | offset 8 | size of the record 2 | type 1 (DT_*) | name | NUL, up to 8 of them
//
// Owner    Nothing: it writes into the caller's buffer.
// Thread   One at a time.
// Limits   Names of up to directory_name_bytes_max; append() refuses a longer one as if the buffer
//          were full.
#pragma once

#include <cstdint>
#include <cstring>
#include <string_view>

namespace tiderace::core {

struct DirectoryRecordHead {
    std::uint64_t inode;
    std::int64_t offset;
    std::uint16_t record_bytes;
    std::uint8_t type;
};
inline constexpr std::size_t directory_name_offset = 19;  // no padding before the name
inline constexpr std::size_t directory_name_bytes_max = 1'024;

class DirectoryRecords {
  public:
    DirectoryRecords(void* buffer, std::size_t bytes)
        : buffer_(static_cast<char*>(buffer)), room_(bytes) {}

    // False: there is no room for it.
    bool append(std::string_view name, std::uint8_t type) {
        const std::size_t bytes = (directory_name_offset + name.size() + 1 + 7) / 8 * 8;
        if (name.size() > directory_name_bytes_max || bytes > room_ - used_) return false;
        const DirectoryRecordHead head{.inode = 0,
                                       .offset = 0,
                                       .record_bytes = static_cast<std::uint16_t>(bytes),
                                       .type = type};
        char* const at = buffer_ + used_;
        std::memset(at, 0, bytes);
        std::memcpy(at, &head, directory_name_offset);
        std::memcpy(at + directory_name_offset, name.data(), name.size());
        used_ += bytes;
        return true;
    }
    std::size_t bytes() const { return used_; }

  private:
    char* buffer_;
    std::size_t room_;
    std::size_t used_ = 0;
};

}  // namespace tiderace::core
