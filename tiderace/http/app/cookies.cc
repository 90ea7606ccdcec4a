#include "tiderace/http/app/cookies.h"

namespace tiderace::http {

std::optional<std::string_view> Cookies::get(std::string_view name) const {
    std::optional<std::string_view> found;
    each([&](std::string_view one, std::string_view value) {
        // The first of a name: clients send the cookie with the longest path first (RFC 6265, 5.4).
        if (!found && one == name) found = value;
    });
    return found;
}

}  // namespace tiderace::http
