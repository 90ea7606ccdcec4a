#include "examples/files/tus.h"

#include <algorithm>
#include <charconv>
#include <ctime>

#include "tiderace/base/base64.h"

namespace tus {

using tiderace::http::Problem;
using tiderace::http::Request;

namespace {

[[noreturn]] void fail(std::string_view field, std::string detail) {
    Problem problem{.status = 400, .detail = "a field of the request cannot be read"};
    problem.faults.push_back({std::string(field), std::move(detail)});
    throw problem;
}

}  // namespace

std::uint64_t number(const Request& request, std::string_view field) {
    const std::string_view text = request.header(field);
    std::uint64_t value = 0;
    const auto [end, fault] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (text.empty() || fault != std::errc{} || end != text.data() + text.size()) {
        fail(field, "expected a number of bytes");
    }
    return value;
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
        const auto decoded = tiderace::read_base64(
            space == trimmed.npos ? std::string_view() : trimmed.substr(space + 1));
        if (!decoded) fail("Upload-Metadata", "expected base64 behind each key");
        return decoded;
    }
    return std::nullopt;
}

namespace {

template <typename Hash>
std::optional<Checksum> checksum_of(std::string_view base64) {
    const auto bytes = tiderace::read_base64(base64);
    Hash made{};
    if (!bytes || bytes->size() != made.size()) return std::nullopt;
    std::ranges::copy(*bytes, made.begin());
    return made;
}

}  // namespace

std::optional<Checksum> checksum(const Request& request) {
    const std::string_view value = request.header("Upload-Checksum");
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
