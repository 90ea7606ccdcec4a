#include "tiderace/http/app/signed/cookie_keys.h"

#include <utility>

namespace tiderace::http {

CookieKeys::CookieKeys(std::vector<std::string> keys) : keys_(std::move(keys)) {}

std::string CookieKeys::sign(std::string_view name, std::string_view value) const {
    // The name is signed as well: a value of one cookie must not pass as another cookie's.
    return std::string(value) + "." + keys_.sign(name, value);
}

std::optional<std::string_view> CookieKeys::verify(std::string_view name,
                                                   std::string_view text) const {
    if (text.size() <= SigningKeys::signature_chars) return std::nullopt;
    const std::size_t dot = text.size() - SigningKeys::signature_chars - 1;
    if (text[dot] != '.') return std::nullopt;
    const std::string_view value = text.substr(0, dot);
    if (!keys_.verify(name, value, text.substr(dot + 1))) return std::nullopt;
    return value;
}

std::optional<std::string_view> CookieKeys::get(const Cookies& cookies,
                                                std::string_view name) const {
    const auto text = cookies.get(name);
    return text ? verify(name, *text) : std::nullopt;
}

}  // namespace tiderace::http
