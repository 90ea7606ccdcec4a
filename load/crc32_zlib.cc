#include <zlib.h>

#include "load/crc32.h"

namespace tiderace::load {

// crc32_z and not crc32: its length is a size_t, where crc32's ends at 4 GiB.
std::uint32_t crc32(std::uint32_t before, ByteView bytes) {
    return static_cast<std::uint32_t>(
        ::crc32_z(before, reinterpret_cast<const Bytef*>(bytes.data()), bytes.size()));
}

}  // namespace tiderace::load
