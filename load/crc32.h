// crc32: the checksum of gzip (RFC 1952), piece after piece; the load compares bodies by it.
//
// zlib's where it is there, a table of our own elsewhere.
#pragma once

#include <cstdint>

#include "tiderace/base/bytes.h"

namespace tiderace::load {

// `before`: of the bytes before these; 0 at the beginning.
std::uint32_t crc32(std::uint32_t before, ByteView bytes);

}  // namespace tiderace::load
