#include "tiderace/tcp/framing.h"

#include <algorithm>
#include <cstdint>

#include "tiderace/base/check.h"

namespace tiderace::tcp {

using State = Found::State;

Found Any::operator()(ByteView bytes, std::size_t) const {
    if (bytes.empty()) return {};
    return {.state = State::frame, .used = bytes.size(), .frame = bytes};
}

Found Fixed::operator()(ByteView in, std::size_t) const {
    if (in.size() < bytes) return {};
    return {.state = State::frame, .used = bytes, .frame = in.substr(0, bytes)};
}

Found Delimiter::operator()(ByteView bytes, std::size_t seen) const {
    TR_CHECK(!mark.empty(), "a delimiter has at least one byte");
    // From where the last look ended, so that a frame that comes byte by byte is not searched anew
    // each time.
    const std::size_t end = bytes.find(mark, seen);
    if (end != ByteView::npos) {
        if (end > bytes_max) return {.state = State::too_long};
        return {.state = State::frame, .used = end + mark.size(), .frame = bytes.substr(0, end)};
    }
    // The last bytes may be the mark's first.
    const std::size_t clear = bytes.size() - std::min(bytes.size(), mark.size() - 1);
    if (clear > bytes_max) return {.state = State::too_long};
    return {.seen = clear};
}

Found Line::operator()(ByteView bytes, std::size_t seen) const {
    // One byte more than the text: the "\r" before the end belongs to it.
    const std::size_t with_return_max = bytes_max < SIZE_MAX ? bytes_max + 1 : bytes_max;
    Found found = Delimiter{.mark = "\n", .bytes_max = with_return_max}(bytes, seen);
    if (found.state != State::frame) return found;
    if (found.frame.ends_with('\r')) found.frame.remove_suffix(1);
    if (found.frame.size() > bytes_max) return {.state = State::too_long};
    return found;
}

Found LengthField::operator()(ByteView bytes, std::size_t) const {
    TR_CHECK(field_bytes >= 1 && field_bytes <= 8, "a length field has 1 to 8 bytes");
    if (bytes.size() < field_bytes) return {};
    std::uint64_t length = 0;
    for (std::size_t i = 0; i < field_bytes; ++i) {
        const std::size_t place = little_endian ? field_bytes - 1 - i : i;
        length = length << 8U | static_cast<unsigned char>(bytes[place]);
    }
    if (counts_itself) {
        if (length < field_bytes) return {.state = State::too_long};  // no frame is that short
        length -= field_bytes;
    }
    // Before anything is kept for it: the peer chooses this number.
    if (length > bytes_max) return {.state = State::too_long};
    if (bytes.size() - field_bytes < length) return {};
    return {.state = State::frame,
            .used = field_bytes + length,
            .frame = bytes.substr(field_bytes, length)};
}

}  // namespace tiderace::tcp
