#include "tiderace/base/utf8.h"

#include <cstring>

#include "tiderace/base/check.h"

namespace tiderace {
namespace {

// RFC 3629, 4. Without surrogates (0xED), up to U+10FFFF (0xF4).
constexpr Utf8Lead lead_of(unsigned char byte) {
    if (byte < 0xC2 || byte > 0xF4) return {};
    return {.followers = static_cast<std::uint8_t>(byte < 0xE0   ? 1
                                                   : byte < 0xF0 ? 2
                                                                 : 3),
            .low = static_cast<unsigned char>(byte == 0xE0   ? 0xA0
                                              : byte == 0xF0 ? 0x90
                                                             : 0x80),
            .high = static_cast<unsigned char>(byte == 0xED   ? 0x9F
                                               : byte == 0xF4 ? 0x8F
                                                              : 0xBF)};
}

// Where the ASCII ends that has `at` in it or behind it.
std::size_t past_ascii(ByteView bytes, std::size_t at) {
    constexpr std::uint64_t tops = 0x8080'8080'8080'8080;
    for (std::uint64_t words[2]; bytes.size() - at >= sizeof words; at += sizeof words) {
        std::memcpy(words, bytes.data() + at, sizeof words);
        if (((words[0] | words[1]) & tops) != 0) break;
    }
    while (at < bytes.size() && static_cast<unsigned char>(bytes[at]) < 0x80) ++at;
    return at;
}

}  // namespace

Utf8Char first_utf8_char(ByteView text) {
    TR_CHECK(!text.empty(), "no character in no bytes");
    const auto first = static_cast<unsigned char>(text[0]);
    if (first < 0x80) return {first, 1, true};
    Utf8Lead lead = lead_of(first);
    if (lead.followers == 0) return {0xFFFD, 1, false};
    const auto total = std::size_t{lead.followers} + 1;
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

bool Utf8Validator::take(ByteView bytes) {
    auto [followers, low, high] = lead_;
    for (std::size_t at = 0; at < bytes.size();) {
        const auto byte = static_cast<unsigned char>(bytes[at]);
        if (followers > 0) {
            if (byte < low || byte > high) return false;
            --followers;
            low = 0x80;
            high = 0xBF;
            ++at;
        } else if (byte < 0x80) {
            at = past_ascii(bytes, at + 1);
        } else {
            const Utf8Lead lead = lead_of(byte);
            if (lead.followers == 0) return false;
            followers = lead.followers;
            low = lead.low;
            high = lead.high;
            ++at;
        }
    }
    lead_ = {followers, low, high};
    return true;
}

}  // namespace tiderace
