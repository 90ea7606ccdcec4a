#include <zlib.h>

#include "load/crc32.h"

namespace tiderace::load {

std::uint32_t crc32(std::uint32_t before, ByteView bytes) {
    return static_cast<std::uint32_t>(
        ::crc32_z(before, reinterpret_cast<const Bytef*>(bytes.data()), bytes.size()));
}

}  // namespace tiderace::load
