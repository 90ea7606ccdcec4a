#include "tiderace/http/wire/text/utf8_validator.h"

#include <cstddef>

#include "tiderace/http/wire/scan.h"

namespace tiderace::http::wire {
namespace {

struct NotAscii {
    static constexpr bool exact = true;
    static constexpr bool stops(char c) { return static_cast<unsigned char>(c) >= 0x80; }
    template <typename B>
    static std::uint64_t candidates(B block) {
        return block.at_most(0x7f).inverted_bits();
    }
};

}  // namespace

// RFC 3629, 4: only the first byte after the lead has a range of its own.
bool Utf8Validator::begin(unsigned char lead) {
    if (lead < 0xC2 || lead > 0xF4) return false;
    followers_ = lead < 0xE0 ? 1 : lead < 0xF0 ? 2 : 3;
    low_ = lead == 0xE0 ? 0xA0 : lead == 0xF0 ? 0x90 : 0x80;
    high_ = lead == 0xED ? 0x9F : lead == 0xF4 ? 0x8F : 0xBF;
    return true;
}

bool Utf8Validator::take(ByteView bytes) {
    std::size_t i = 0;
    while (i < bytes.size()) {
        const auto byte = static_cast<unsigned char>(bytes[i]);
        if (followers_ > 0) {
            if (byte < low_ || byte > high_) return false;
            --followers_;
            low_ = 0x80;
            high_ = 0xBF;
            ++i;
        } else if (byte < 0x80) {
            // Runs of ASCII are skipped in blocks.
            i = scan::find_first<NotAscii>(bytes, i + 1);
        } else {
            if (!begin(byte)) return false;
            ++i;
        }
    }
    return true;
}

}  // namespace tiderace::http::wire
