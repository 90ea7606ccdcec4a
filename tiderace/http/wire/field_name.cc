#include "tiderace/http/wire/field_name.h"

#include <array>
#include <cstring>

#include "tiderace/http/wire/field_syntax.h"

namespace tiderace::http::wire {
namespace {

constexpr std::string_view colon = ": ";

// In the order of the enum.
constexpr auto line_starts = std::to_array<std::string_view>({
    "",
    "Host: ",
    "Connection: ",
    "Content-Length: ",
    "Transfer-Encoding: ",
    "Content-Type: ",
    "Content-Encoding: ",
    "Expect: ",
    "Upgrade: ",
    "TE: ",
    "Trailer: ",
    "Keep-Alive: ",
    "Accept: ",
    "Accept-Encoding: ",
    "Accept-Language: ",
    "User-Agent: ",
    "Referer: ",
    "Cookie: ",
    "Authorization: ",
    "Origin: ",
    "Range: ",
    "If-Match: ",
    "If-None-Match: ",
    "If-Modified-Since: ",
    "If-Unmodified-Since: ",
    "If-Range: ",
    "Cache-Control: ",
    "Pragma: ",
    "Date: ",
    "Forwarded: ",
    "X-Forwarded-For: ",
    "X-Forwarded-Proto: ",
    "X-Request-Id: ",
    "Upgrade-Insecure-Requests: ",
    "Priority: ",
    "HTTP2-Settings: ",
    "Sec-WebSocket-Key: ",
    "Sec-WebSocket-Version: ",
    "Sec-WebSocket-Protocol: ",
    "Sec-WebSocket-Extensions: ",
    "Sec-WebSocket-Accept: ",
    "Access-Control-Request-Method: ",
    "Access-Control-Request-Headers: ",
    "Access-Control-Allow-Origin: ",
    "Access-Control-Allow-Methods: ",
    "Access-Control-Allow-Headers: ",
    "Access-Control-Max-Age: ",
    "Server: ",
    "Content-Range: ",
    "Accept-Ranges: ",
    "ETag: ",
    "Last-Modified: ",
    "Location: ",
    "Vary: ",
    "Allow: ",
    "Set-Cookie: ",
    "WWW-Authenticate: ",
    "Retry-After: ",
    "Expires: ",
    "Content-Disposition: ",
    "Content-Language: ",
    "X-Content-Type-Options: ",
    "Sec-Fetch-Site: ",
    "Alt-Svc: ",
});
static_assert(line_starts.size() <= field_names_max);

constexpr std::string_view name_of(std::size_t id) {
    const std::string_view start = line_starts[id];
    return start.empty() ? start : start.substr(0, start.size() - colon.size());
}

// A perfect hash over length and three bytes. When a name is added and the static_assert below
// fails, any odd multiplier that satisfies it will do: try random ones, a few thousand suffice.
constexpr std::uint32_t hash_multiplier = 0x7733278b;
constexpr unsigned hash_bits = 8;

constexpr std::uint32_t hash_of(ByteView name) {
    const auto lower = [&](std::size_t at) -> std::uint32_t {
        // Lower case for letters. Other characters change as well, but alike on both sides.
        return static_cast<unsigned char>(name[at]) | 0x20U;
    };
    const std::uint32_t key = static_cast<std::uint32_t>(name.size()) + (lower(0) << 8) +
                              (lower(name.size() * 3 / 4) << 16) + (lower(name.size() - 1) << 24);
    return (key * hash_multiplier) >> (32 - hash_bits);
}

constexpr std::size_t name_bytes_max = 32;

struct Entry {
    std::array<char, name_bytes_max> lower;  // padded with NUL
    std::uint8_t size;
    FieldName id;
};

constexpr std::array<Entry, 1U << hash_bits> make_entries() {
    std::array<Entry, 1U << hash_bits> entries{};
    for (std::size_t id = 1; id < line_starts.size(); ++id) {
        const std::string_view name = name_of(id);
        Entry& entry = entries[hash_of(name)];
        if (entry.size != 0) return {};  // a collision: no name is found, and the assertion fails
        for (std::size_t i = 0; i < name.size(); ++i) entry.lower[i] = to_lower(name[i]);
        entry.size = static_cast<std::uint8_t>(name.size());
        entry.id = static_cast<FieldName>(id);
    }
    return entries;
}

constexpr std::array<Entry, 1U << hash_bits> entries = make_entries();
static_assert(entries[hash_of("Host")].id == FieldName::host, "two names share a slot");

using LowerText = std::array<std::array<char, name_bytes_max>, field_names_max>;

constexpr LowerText make_lower_text() {
    LowerText text{};
    for (std::size_t id = 1; id < line_starts.size(); ++id) {
        const std::string_view name = name_of(id);
        for (std::size_t i = 0; i < name.size(); ++i) text[id][i] = to_lower(name[i]);
    }
    return text;
}

constexpr LowerText lower_text = make_lower_text();

constexpr std::array<std::string_view, field_names_max> make_lower_names() {
    std::array<std::string_view, field_names_max> names{};
    for (std::size_t id = 1; id < line_starts.size(); ++id) {
        names[id] = {lower_text[id].data(), name_of(id).size()};
    }
    return names;
}

template <typename Word>
bool same_word(const char* lower, const char* given) {
    Word expected = 0;
    Word found = 0;
    std::memcpy(&expected, lower, sizeof(Word));
    std::memcpy(&found, given, sizeof(Word));
    // Letters, and only they, have 0x40 in the table's bytes ('-' and digits do not): there the
    // case bit may differ. Shifted right once, 0x40 becomes that bit.
    const Word may_differ =
        static_cast<Word>((expected & static_cast<Word>(0x4040404040404040)) >> 1);
    return ((expected ^ found) & static_cast<Word>(~may_differ)) == 0;
}

// `size` bytes, compared in words that overlap at the end instead of a loop over bytes.
bool same_name(const char* lower, const char* given, std::size_t size) {
    if (size >= 8) {
        for (std::size_t at = 0; at + 8 < size; at += 8) {
            if (!same_word<std::uint64_t>(lower + at, given + at)) return false;
        }
        return same_word<std::uint64_t>(lower + size - 8, given + size - 8);
    }
    if (size >= 4) {
        return same_word<std::uint32_t>(lower, given) &&
               same_word<std::uint32_t>(lower + size - 4, given + size - 4);
    }
    return same_word<std::uint16_t>(lower, given) &&
           same_word<std::uint16_t>(lower + size - 2, given + size - 2);
}

}  // namespace

constexpr std::array<std::string_view, field_names_max> field_name::lower = make_lower_names();

FieldName intern_field_name(ByteView name) {
    // same_name() reads words of at least two bytes.
    if (name.size() < 2) return FieldName::other;
    const Entry& entry = entries[hash_of(name)];
    if (entry.size != name.size()) return FieldName::other;
    return same_name(entry.lower.data(), name.data(), name.size()) ? entry.id : FieldName::other;
}

std::string_view to_string(FieldName name) {
    return name_of(static_cast<std::size_t>(name));
}

std::string_view to_line_start(FieldName name) {
    return line_starts[static_cast<std::size_t>(name)];
}

}  // namespace tiderace::http::wire
