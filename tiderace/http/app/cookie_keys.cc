#include "tiderace/http/app/cookie_keys.h"

#include <utility>

#include "tiderace/base/check.h"
#include "tiderace/base/constant_time.h"
#include "tiderace/http/wire/sha256.h"

namespace tiderace::http {
namespace {

constexpr std::size_t signature_chars = 64;

std::string signature(std::string_view key, std::string_view name, std::string_view value) {
    constexpr std::string_view digits = "0123456789abcdef";
    // The name is signed as well: a value of one cookie must not pass as another cookie's.
    std::string named(name);
    named += '\0';  // which no name of a cookie holds
    std::string text;
    for (const auto byte : wire::hmac_sha256(key, named, value)) {
        text += digits[byte >> 4];
        text += digits[byte & 15];
    }
    return text;
}

}  // namespace

CookieKeys::CookieKeys(std::vector<std::string> keys) : keys_(std::move(keys)) {
    TR_CHECK(!keys_.empty(), "signed cookies need a key");
    for (const std::string& key : keys_) {
        TR_CHECK(key.size() >= key_bytes_min, "a key for cookies has at least 32 bytes");
    }
}

std::string CookieKeys::sign(std::string_view name, std::string_view value) const {
    // The first key signs; the others only verify, so that keys can be replaced one by one.
    return std::string(value) + "." + signature(keys_.front(), name, value);
}

std::optional<std::string_view> CookieKeys::verify(std::string_view name,
                                                   std::string_view text) const {
    if (text.size() <= signature_chars) return std::nullopt;
    const std::size_t dot = text.size() - signature_chars - 1;
    if (text[dot] != '.') return std::nullopt;
    const std::string_view value = text.substr(0, dot);
    bool good = false;
    for (const std::string& key : keys_) {
        // All keys are tried, so that timing does not show which one fits.
        good |= equals_in_constant_time(signature(key, name, value), text.substr(dot + 1));
    }
    return good ? std::optional(value) : std::nullopt;
}

std::optional<std::string_view> CookieKeys::get(const Cookies& cookies,
                                                std::string_view name) const {
    const auto text = cookies.get(name);
    return text ? verify(name, *text) : std::nullopt;
}

}  // namespace tiderace::http
