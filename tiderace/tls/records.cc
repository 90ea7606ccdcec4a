#include "tiderace/tls/records.h"

namespace tiderace::tls {

std::size_t first_record_bytes(ByteView in) {
    if (in.size() < Records::header_bytes) return 0;
    const auto high = static_cast<unsigned char>(in[3]);
    const auto low = static_cast<unsigned char>(in[4]);
    return Records::header_bytes + (static_cast<std::size_t>(high) << 8U | low);
}

std::size_t whole_record_bytes(ByteView in) {
    std::size_t whole = 0;
    for (;;) {
        const std::size_t next = first_record_bytes(in.substr(whole));
        if (next > Records::record_bytes_max) return ByteView::npos;
        if (next == 0 || next > in.size() - whole) return whole;
        whole += next;
    }
}

}  // namespace tiderace::tls
