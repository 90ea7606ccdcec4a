#include "tiderace/http/listing/directory_reader.h"

#include <dirent.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "tiderace/core/directory_records.h"

namespace tiderace::http::listing {
namespace {

DirectoryReader::Kind kind_of(std::uint8_t type) {
    using Kind = DirectoryReader::Kind;
    switch (type) {
        case DT_REG:
            return Kind::file;
        case DT_DIR:
            return Kind::directory;
        case DT_LNK:
            return Kind::link;
        case DT_UNKNOWN:
            return Kind::unknown;
        default:
            return Kind::other;
    }
}

}  // namespace

DirectoryReader::DirectoryReader(core::Kernel& kernel, core::Descriptor directory)
    : kernel_(&kernel),
      directory_(std::move(directory)),
      buffer_(std::make_unique_for_overwrite<char[]>(buffer_bytes)) {}

bool DirectoryReader::fill() {
    at_ = filled_ = 0;
    ssize_t got = -EINTR;
    for (int tries = 0; got == -EINTR && tries < 16; ++tries) {
        got = kernel_->read_directory(directory_.get(), buffer_.get(), buffer_bytes);
    }
    if (got < 0) error_ = static_cast<int>(-got);
    if (got <= 0) return false;
    filled_ = static_cast<std::size_t>(got);
    return true;
}

std::optional<DirectoryReader::Entry> DirectoryReader::next() {
    for (;;) {
        if (at_ >= filled_ && !fill()) return std::nullopt;
        core::DirectoryRecordHead head;
        std::memcpy(&head, buffer_.get() + at_, core::directory_name_offset);
        const char* name = buffer_.get() + at_ + core::directory_name_offset;
        at_ += head.record_bytes;
        const ByteView view(name);
        if (view == "." || view == "..") continue;
        return Entry{name, view.size(), kind_of(head.type)};
    }
}

}  // namespace tiderace::http::listing
