#include "examples/files/tus.h"

#include <algorithm>
#include <charconv>
#include <ctime>

namespace tus {

using tiderace::http::Problem;
using tiderace::http::Request;

namespace {

// 0 to 63; 64: none.
unsigned sextet(char one) {
    constexpr std::string_view alphabet =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    const std::size_t at = alphabet.find(one);
    return at == alphabet.npos ? 64 : static_cast<unsigned>(at);
}

[[noreturn]] void fail(std::string_view field, std::string detail) {
    Problem problem{.status = 400, .detail = "a field of the request cannot be read"};
    problem.faults.push_back({std::string(field), std::move(detail)});
    throw problem;
}

}  // namespace

std::uint64_t number(const Request& request, std::string_view field) {
    const std::string_view text = request.field(field);
    std::uint64_t value = 0;
    const auto [end, fault] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (text.empty() || fault != std::errc{} || end != text.data() + text.size()) {
        fail(field, "expected a number of bytes");
    }
    return value;
}

std::optional<std::string> from_base64(std::string_view text) {
    if (text.size() % 4 != 0) return std::nullopt;
    std::size_t padding = 0;
    while (padding < 2 && text.ends_with('=')) {
        text.remove_suffix(1);
        ++padding;
    }
    std::string made;
    unsigned bits = 0;
    unsigned held = 0;
    for (const char one : text) {
        const unsigned value = sextet(one);
        if (value == 64) return std::nullopt;
        bits = bits << 6 | value;
        held += 6;
        if (held < 8) continue;
        held -= 8;
        made += static_cast<char>(bits >> held & 0xFF);
    }
    // Bits that no byte takes: two texts would mean the same bytes (RFC 4648, 3.5).
    if ((bits & ((1U << held) - 1)) != 0) return std::nullopt;
    return made;
}

// "filename d29ybGQ=,is_confidential": keys without a value are allowed.
std::optional<std::string> metadata(std::string_view value, std::string_view key) {
    while (!value.empty()) {
        const std::string_view pair = value.substr(0, value.find(','));
        value.remove_prefix(std::min(value.size(), pair.size() + 1));
        const std::string_view trimmed =
            pair.substr(std::min(pair.find_first_not_of(' '), pair.size()));
        const std::size_t space = trimmed.find(' ');
        if (trimmed.substr(0, space) != key) continue;
        const auto decoded =
            from_base64(space == trimmed.npos ? std::string_view() : trimmed.substr(space + 1));
        if (!decoded) fail("Upload-Metadata", "expected base64 behind each key");
        return decoded;
    }
    return std::nullopt;
}

namespace {

template <typename Hash>
std::optional<Checksum> checksum_of(std::string_view base64) {
    const auto bytes = from_base64(base64);
    Hash made{};
    if (!bytes || bytes->size() != made.size()) return std::nullopt;
    std::ranges::copy(*bytes, made.begin());
    return made;
}

}  // namespace

std::optional<Checksum> checksum(const Request& request) {
    const std::string_view value = request.field("Upload-Checksum");
    if (value.empty()) return std::nullopt;
    const std::string_view algorithm = value.substr(0, value.find(' '));
    const std::string_view rest = value.substr(std::min(value.size(), algorithm.size() + 1));
    std::optional<Checksum> made;
    if (algorithm == "sha1") made = checksum_of<tiderace::Sha1>(rest);
    if (algorithm == "sha256") made = checksum_of<tiderace::http::wire::Sha256>(rest);
    if (!made) {
        fail("Upload-Checksum", "expected \"sha1\" or \"sha256\", a space and the hash in base64");
    }
    return made;
}

std::string http_date(tiderace::UnixSeconds when) {
    const std::time_t seconds = when;
    std::tm parts{};
    ::gmtime_r(&seconds, &parts);
    char text[40];
    const std::size_t bytes = std::strftime(text, sizeof text, "%a, %d %b %Y %H:%M:%S GMT", &parts);
    return {text, bytes};
}

}  // namespace tus
