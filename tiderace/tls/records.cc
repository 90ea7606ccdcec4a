#include "tiderace/tls/records.h"

namespace tiderace::tls {

std::size_t declared_bytes(ByteView in) {
    if (in.size() < Records::header_bytes) return 0;
    const auto high = static_cast<unsigned char>(in[3]);
    const auto low = static_cast<unsigned char>(in[4]);
    return Records::header_bytes + (static_cast<std::size_t>(high) << 8U | low);
}

// A record that claims too much is refused by its header alone, at once, instead of
// after the 64 KiB that a header may announce.
std::size_t openable_bytes(ByteView in, std::size_t record_bytes_max) {
    const std::size_t declared = declared_bytes(in);
    return declared <= record_bytes_max ? declared : Records::header_bytes;
}

std::size_t ready_bytes(ByteView in, std::size_t record_bytes_max) {
    std::size_t ready = 0;
    for (;;) {
        const ByteView rest = in.substr(ready);
        const std::size_t next = openable_bytes(rest, record_bytes_max);
        if (next == 0 || next > rest.size()) return ready;
        ready += next;
        // A refused header ends the connection, so the bytes after it are not read.
        if (declared_bytes(rest) > next) return ready;
    }
}

}  // namespace tiderace::tls
