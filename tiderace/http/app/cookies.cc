#include "tiderace/http/app/cookies.h"

namespace tiderace::http {

std::optional<std::string_view> Cookies::get(std::string_view name) const {
    std::optional<std::string_view> found;
    each([&](std::string_view one, std::string_view value) {
        if (!found && one == name) found = value;
    });
    return found;
}

}  // namespace tiderace::http
