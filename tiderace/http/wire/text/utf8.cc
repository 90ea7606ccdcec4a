#include "tiderace/http/wire/text/utf8.h"

#include <cstdint>

#include "tiderace/base/check.h"

namespace tiderace::http::wire {
namespace {

// What a lead byte promises: how many bytes follow it, and which the first of them may be.
struct Lead {
    int followers;  // 0: not a lead byte
    unsigned char low = 0x80;
    unsigned char high = 0xBF;
};

Lead lead_of(unsigned char byte) {
    if (byte >= 0xC2 && byte <= 0xDF) return {1};
    if (byte == 0xE0) return {2, 0xA0, 0xBF};
    if (byte == 0xED) return {2, 0x80, 0x9F};  // no surrogates
    if (byte >= 0xE1 && byte <= 0xEF) return {2};
    if (byte == 0xF0) return {3, 0x90, 0xBF};
    if (byte == 0xF4) return {3, 0x80, 0x8F};  // up to U+10FFFF
    if (byte >= 0xF1 && byte <= 0xF3) return {3};
    return {0};
}

}  // namespace

Utf8Char first_utf8_char(ByteView text) {
    TR_CHECK(!text.empty(), "no character in no bytes");
    const auto first = static_cast<unsigned char>(text[0]);
    if (first < 0x80) return {first, 1, true};
    Lead lead = lead_of(first);
    if (lead.followers == 0) return {0xFFFD, 1, false};
    const auto total = static_cast<std::size_t>(lead.followers) + 1;
    char32_t code = first & (0x7Fu >> total);
    for (std::size_t i = 1; i < total; ++i) {
        const unsigned char byte = i < text.size() ? static_cast<unsigned char>(text[i]) : 0;
        // One U+FFFD for the longest valid start (Unicode, 3.9), and the byte that broke it is read
        // anew.
        if (byte < lead.low || byte > lead.high) return {0xFFFD, i, false};
        code = code << 6 | (byte & 0x3F);
        lead = {lead.followers};
    }
    return {code, total, true};
}

}  // namespace tiderace::http::wire
